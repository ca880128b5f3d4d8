"""Power states and policies of a host: read for its facts, set for a campaign that names the host, and put
back.

https://docs.kernel.org/admin-guide/pm/cpufreq.html, https://docs.kernel.org/admin-guide/pm/cpuidle.html
"""

from perjoule.testbeds._power.options import Power
from perjoule.testbeds._power.setting import applied, facts, lack, offered, put_back

__all__ = ["Power", "applied", "facts", "lack", "offered", "put_back"]
