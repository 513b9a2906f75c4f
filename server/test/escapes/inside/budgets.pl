# Takes as much as it gets of what the kernel counts by user or machine, and says how much: `kind most processes`. It holds
# it until its standard input ends, then prints `done`.
use strict;
use warnings;
use Socket;
my ($kind, $most, $processes) = @ARGV;
my $arm = `uname -m` =~ /aarch64/;
$| = 1;
my @held;

sub inotify { my $fd = syscall($arm ? 26 : 294, 0); $fd >= 0 }
sub files { open my $file, '<', '/dev/null' or return 0; push @held, $file; 1 }
sub ptys { open my $file, '+<', '/dev/ptmx' or return 0; push @held, $file; 1 }
# A blocked real-time signal to itself stays queued; the kernel refuses it where the queue is full (a siginfo of its own).
sub signals {
  my $info = pack 'i i i i i i x104', 40, 0, -1, 0, $$, 0;
  syscall($arm ? 138 : 129, $$, 40, $info) == 0;
}
# Datagrams nobody reads, in mebibytes.
sub sockets {
  socket my $to, AF_INET, SOCK_DGRAM, 0 or return 0;
  setsockopt $to, SOL_SOCKET, SO_RCVBUF, 1 << 24;
  bind $to, sockaddr_in(0, INADDR_LOOPBACK) or return 0;
  socket my $from, AF_INET, SOCK_DGRAM, 0 or return 0;
  my $address = getsockname $to;
  push @held, $to, $from;
  my $got = 0;
  for (1 .. 8) { send $from, 'x' x 30_000, 0, $address or last }
  my $waiting = pack 'i', 0;
  ioctl $to, 0x541B, $waiting or return 0;
  unpack('i', $waiting) > 0;
}
# To its own address, which everybody may send to.
sub netlink {
  socket my $to, 16, SOCK_RAW, 2 or return 0;
  bind $to, pack 'SSLL', 16, 0, 0, 0 or return 0;
  push @held, $to;
  my ($address, $got) = (scalar getsockname $to, 0);
  my $message = pack('LSSLL', 30_016, 16, 0, 0, 0) . 'x' x 30_000;
  # Not to wait (MSG_DONTWAIT).
  $got++ while $got < 6 && defined send $to, $message, 0x40, $address;
  $got > 0;
}
# As the beginning of a longer one (MSG_MORE).
sub held {
  socket my $to, AF_INET, SOCK_DGRAM, 0 or return 0;
  connect $to, sockaddr_in(9, INADDR_LOOPBACK) or return 0;
  push @held, $to;
  defined send $to, 'x' x 65_000, 0x8000;
}
if ($kind eq 'signals') {
  my $set = pack 'Q', 1 << 39;
  syscall($arm ? 135 : 14, 0, $set, 0, 8) == 0 or die "sigprocmask: $!";
}
my @pipes;
for my $index (1 .. $processes) {
  pipe my $read, my $write;
  my $pid = fork;
  defined $pid or last;
  if (!$pid) {
    my $got = 0;
    no strict 'refs';
    $got++ while $got < $most && &$kind();
    syswrite $write, "$got\n";
    close $write;
    sleep 60;
    exit;
  }
  close $write;
  push @pipes, [$pid, $read];
}
my $sum = 0;
for (@pipes) { my $line = readline $_->[1]; $sum += $line if defined $line }
print "took $sum\n";
<STDIN>;
kill 'KILL', map { $_->[0] } @pipes;
print "done\n";
