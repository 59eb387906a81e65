"""Which unit stands for a job (spec 2.6, 15.2)."""

from builders import pod, unit, unit_by_hand

from kq.decide.jobs import JobIndex, holder_of, named_job
from kq.decide.standing import JobFacts

KEY = ("Job", "team-a", "train")


def index(*units, exists=True):
    made = JobIndex({"Job"})
    if exists:
        made.put("job-train", KEY, False)
    for each in units:
        made.put_unit(each)
    return made


def test_a_unit_is_found_by_the_uid_of_its_job():
    jobs = index(unit())
    assert jobs.unit_of("job-train", KEY) == unit()
    assert jobs.unit_of("another", KEY) is None


def test_the_owner_reference_goes_before_consumer_ref():
    """And the older of two before the younger."""
    owned = unit("z-owned", job="train", minute=9)
    named = unit("named", job="train", owner_uid="", minute=0)
    younger = unit("a-younger", job="train", minute=10)
    jobs = index(younger, named, owned)
    assert [each.name for each in jobs.units_of("job-train")] == ["z-owned", "a-younger", "named"]


def test_a_unit_made_by_hand_is_found_by_name_if_it_names_no_uid():
    by_hand = unit_by_hand()
    assert index(by_hand).unit_of("job-train", KEY) == by_hand
    other = unit_by_hand(owner_uid="job-of-before")
    assert index(other).unit_of("job-train", KEY) is None


def test_a_job_is_news_once():
    jobs = JobIndex({"Job"})
    assert jobs.put("u", KEY, False)
    assert not jobs.put("u", KEY, False)
    assert jobs.put("u", KEY, True)


def test_the_end_of_an_old_job_leaves_the_new_one_of_its_name():
    """Case I6, both orders of events."""
    by_hand = unit_by_hand()
    jobs = index(by_hand)
    jobs.put("again", KEY, False)
    jobs.drop("job-train", KEY)
    assert jobs.facts(by_hand) == JobFacts(adopted=False)
    jobs.drop("again", KEY)
    assert jobs.facts(by_hand) == JobFacts(missing=True, adopted=False)


def test_facts_of_a_job():
    jobs = index(unit(), unit("second", job="train", minute=1))
    assert jobs.facts(unit()) == JobFacts()
    second = unit("second", job="train", minute=1)
    assert jobs.facts(second) == JobFacts(other_unit="team-a/train")
    jobs.put("job-train", KEY, True)
    jobs.put_pod("job-train", pod())
    assert jobs.facts(unit()) == JobFacts(deleting=True, lingering_pods=True)
    jobs.drop_pod("job-train", pod())
    jobs.drop("job-train", KEY)
    assert jobs.facts(unit()) == JobFacts(missing=True)


def test_nothing_is_known_of_kinds_that_are_not_served():
    """Spec 15.2: queued and granted, the job is another's."""
    foreign = unit_by_hand(consumer=unit().consumer.__class__("x/v1", "Foo", "f", "", ""))
    assert index(foreign, exists=False).facts(foreign) == JobFacts()
    nobody = unit_by_hand(consumer=None)
    assert index(nobody, exists=False).facts(nobody) == JobFacts()
    assert named_job(nobody) is None


def test_a_unit_and_the_pods_of_its_job_are_found_together():
    assert holder_of(unit()) == "job-train"
    assert holder_of(unit_by_hand()) == "team-a/train"


def test_a_unit_that_is_gone_is_found_no_more():
    jobs = index(unit())
    jobs.drop_unit(unit())
    jobs.drop_unit(unit())
    assert jobs.units_of("job-train") == []
    assert jobs.units_naming(KEY) == []


def test_pods_that_are_gone_leave_nothing():
    jobs = index()
    jobs.put_pod("job-train", pod())
    assert jobs.pods("job-train") is not None
    jobs.drop_pod("job-train", pod())
    jobs.drop_pod("job-train", pod())
    assert jobs.pods("job-train") is None
