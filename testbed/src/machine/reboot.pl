#!/usr/bin/perl
# reboot and poweroff of a testbed machine: the system call itself, at once, like `reboot -f`.
# In a pid namespace the kernel ends process 1 by SIGHUP (restart) or SIGINT (power off) and nothing else.
use strict;
use warnings;
use POSIX ();
my ($number) = { x86_64 => 169, aarch64 => 142 }->{(POSIX::uname())[4]} // die "reboot: unknown architecture\n";
my $how = $0 =~ /poweroff$/ ? 0x4321fedc : 0x01234567;
syscall($number, 0xfee1dead, 0x28121969, $how, 0);
die "reboot: $!\n";
