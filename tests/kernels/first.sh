# The first process of the virtual machine: brings up what a system has, runs the task that the machine outside gave, powers off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
mkdir -p /perjoule /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ln -sf /proc/self/mounts /etc/mtab  # where Ganesha looks
hostname kernels
ip link set lo up
modprobe -a loop fuse
modprobe -q orangefs  # where there is one; nothing loads it before its client's daemon looks for it
/lib/systemd/systemd-udevd --daemon && udevadm trigger && udevadm settle
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose checkout /perjoule
cd /perjoule && sh /share/task > /share/out 2>&1
echo $? > /share/ended
sync
echo o > /proc/sysrq-trigger
sleep 60
