"""The Ceph cluster that CephFS and RADOS share."""
