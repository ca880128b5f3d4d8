"""elbencho's phases that are no load, and the options of its command line that matter to a run or do not."""

NO_LOADS = ("SYNC", "DROPCACHE")
CREDENTIALS = ("--s3secret", "--s3credlist", "--s3sessiontoken", "--s3sseckey")
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
