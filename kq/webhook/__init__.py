"""The mutating webhook: it holds jobs back when they are submitted.

Belongs here: what an AdmissionReview says (`review`, pure), what is answered to one (`mutate`,
pure; `server` counts it and catches failures), and the HTTPS around that: requests out of bytes
(`http`, pure), one `connection`, the `listener`. Does not: what one job kind looks like
(`jobs`), whose quota counts (`quota`), certificates (`tls`), watching the cluster (`kube`): the
server is handed a `World` that answers from listers, and makes no API call (spec 1.3).
"""
