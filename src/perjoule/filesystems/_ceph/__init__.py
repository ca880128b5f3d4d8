"""The Ceph cluster that CephFS, RADOS, RBD and RGW share."""
