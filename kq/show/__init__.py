"""`kq demo`: a show of what kq does, on the simulated cluster and in virtual time.

    cast        which teams there are, what quota each has, who submits what and when
    kinds       the kinds of jobs that play, and to which job an object belongs
    specs       what a role is as a job of each kind
    manifests   the objects that the cast submits, and what must be there before
    happenings  what can be seen happen
    onlooker    sees it happen, adds up what is in use, and knows nothing of kq
    play        cluster, kq and cast at work
    record      what must have held at every instant, from all that the API server has recorded
    ending      what came of it, and what should not have
    page        the lines of what happens
    frame       what is said before and after
    pace        how fast it is shown
    showing     all that, from the first line to the last

Nothing in here decides anything about a job: kq's own webhook and manager do, unchanged.
"""
