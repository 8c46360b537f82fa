#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots Debian's kernel for arm64 in qemu-system-aarch64, and runs the tests of live capture and of AF_XDP
# there, in network namespaces with veth. Packages come from the sources of this Debian, into a folder of
# their own. Left out are tests that rename an interface while it is up, as kernels do from 6.2 on, and
# tests of frames in several pieces, which AF_XDP has from 6.6 on: 6.1 drops them without counting. Tests
# with ethtool are skipped: 6.1 reports no VLAN tags to AF_XDP, and they expect no warning of that.
set -euo pipefail
cd "$(dirname "$0")/../.."
for needed in apt-get dpkg-deb qemu-aarch64 qemu-system-aarch64; do
	command -v "$needed" >/dev/null || { echo "skipped: no $needed" && exit 0; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir"/{apt/lists/partial,cache/archives/partial,packages,sys,root/{bin,sbin,proc,sys,dev,tmp}}
touch "$dir/apt/status"
cat >"$dir/apt.conf" <<CONF
APT::Architecture "arm64"; APT::Architectures {"arm64";}; APT::Sandbox::User "root";
Dir::State "$dir/apt"; Dir::State::status "$dir/apt/status"; Dir::Cache "$dir/cache";
CONF
export APT_CONFIG=$dir/apt.conf
apt-get -q update >/dev/null
kernel=$(apt-cache depends linux-image-arm64 | awk '/Depends:/ {print $2; exit}')
depends=$(apt-cache depends --recurse --no-{recommends,suggests,conflicts,breaks,replaces,enhances} iproute2 | grep -E '^(lib|zlib)' | sort -u)
# shellcheck disable=SC2086
(cd "$dir/packages" && apt-get -q download "$kernel" busybox-static iproute2 $depends >/dev/null)
unset APT_CONFIG
for package in "$dir"/packages/*.deb; do dpkg-deb -x "$package" "$dir/sys"; done
cd "$dir"
cp sys/bin/busybox root/bin/
cp -L sys/bin/ip root/sbin/
mkdir -p root/lib root/usr/lib
cp -a sys/lib/aarch64-linux-gnu sys/lib/ld-linux-aarch64.so.1 root/lib/
cp -a sys/usr/lib/aarch64-linux-gnu root/usr/lib/
rm -rf root/usr/lib/aarch64-linux-gnu/{gconv,perl*}
modules="veth tun llc stp bridge garp mrp 8021q"
for module in $modules; do find sys/lib/modules -name "$module.ko" -exec cp {} root/ \;; done
for package in afpacket xdp; do
	(cd "$OLDPWD" && GOARCH=arm64 CGO_ENABLED=0 go test -c -o "$dir/root/$package.test" "./capture/$package")
done
cat >root/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
rm -f /bin/ip
export PATH=/sbin:/bin HOME=/tmp
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
for module in MODULES; do insmod /$module.ko; done
ip link set lo up
cd /tmp
/afpacket.test -test.short -test.v -test.skip 'Renamed|Swapped|ComesBack|SendAnew' &&
	/xdp.test -test.short -test.v -test.skip 'TestLong|TestEveryLength/pieces' && echo "live capture on $(uname -rm): passed"
poweroff -f
INIT
sed -i "s/MODULES/$modules/" root/init
chmod +x root/init
(cd root && find . | qemu-aarch64 bin/busybox cpio -o -H newc 2>/dev/null | gzip -1 >../initrd)
timeout 1800 qemu-system-aarch64 -M virt -cpu cortex-a72 -smp 2 -m 1024 -nographic -no-reboot -net none \
	-kernel sys/boot/vmlinuz-* -initrd initrd -append "console=ttyAMA0 quiet panic=-1" </dev/null | tee console | grep -E '^(---|    |live)' || true
grep -q '^live capture on .*: passed' console
