"""`make demo-cluster`: two jobs wait their turn on a real control plane, twice; it ends by itself.

    examples    the manifests of the repository, with pods that run only for a moment
    stage       control plane, webhook and manager in a temporary folder
    picture     quota, units and jobs as the API server shows them at one moment
    show        what a person reads: commands, a live table on a terminal, else lines
    story       what happens, in order, and what must be seen on the way
    failure     what went wrong and which log to read

kq itself runs as processes, as on a cluster; of its code only the clock is used in here.
"""
