"""What CephFS and RADOS share: one Ceph cluster."""
