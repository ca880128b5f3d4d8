"""elbencho's names of phases, and the options of its command line that matter to a run or do not."""

import re

DATA = re.compile(r"(?:(?P<write>WRITE)|(?P<read>READ)|(?P<both>RWMIX\d+|MIX-T\d+))(?:\+s)?")
CHANGES = frozenset(
    (
        "MKDIRS", "MKBUCKETS", "RMFILES", "RMOBJECTS", "RMDIRS", "RMBUCKETS", "MULTIDEL",
        "MPUCOMPL", "PUTOBJACL", "PUTBACL", "PUTOBJMD", "DELOBJMD", "PUTBUCKETMD", "DELBUCKETMD",
    )
)  # fmt: skip
LOOKS = frozenset(
    (
        "STAT", "STATDIRS", "HEADOBJ", "LISTOBJ", "LISTOBJ_P", "GETOBJACL", "GETBACL", "GETOBJMD",
        "GETBUCKETMD",
    )
)  # fmt: skip
NO_LOADS = ("SYNC", "DROPCACHE")
UNCOUNTED = ("--readinline", "--verifydirect")  # which read within writes
CREDENTIALS = ("--s3secret", "--s3credlist", "--s3sessiontoken", "--s3sseckey")
IGNORES = "--s3ignoreerrors"
FAILED = "errors total"  # of the versions after 3.1, empty where none failed
OBJECTS = ("bucket", "object")
NOT_LOAD = frozenset(  # outputs, names, other phases, and what has a column of its own
    (
        "--allelapsed", "--block", "--configfile", "--cpu", "--csvfile", "--deldirs", "--delfiles",
        "--direct", "--dirs", "--dirstats", "--files", "--hosts", "--hostsfile", "--iodepth",
        "--iterations", "--jsonfile", "--label", "--lat", "--lathisto", "--latpercent",
        "--latpercent9s", "--live1", "--live1n", "--livecsv", "--livecsvex", "--liveint",
        "--livejson", "--livejsonex", "--log", "--mkdirs", "--no0usecerr", "--nocsvlabels",
        "--nodelerr", "--nolive", "--norandalign", "--nosvcshare", "--numhosts", "--opslog",
        "--opsloglock", "--phasedelay", "--port", "--rand", "--read", "--resfile", "--rotatehosts",
        "--rwmixpct", "--rwmixthr", "--s3credfile", "--s3endpoints", "--s3key", "--s3log",
        "--s3logprefix", "--s3region", "--size", "--start", "--stat", "--svcelapsed", "--svcping",
        "--svcpwfile", "--svcupint", "--svcwait", "--sync", "--dropcache", "--threads", "--trunc",
        "--write",
    )
)  # fmt: skip
