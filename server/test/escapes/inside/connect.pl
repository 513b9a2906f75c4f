# Connects to each target and prints it with how that went: `connected`, or the error's name.
# tcp:ADDRESS:PORT  udp:ADDRESS:PORT  tcp6:ADDRESS:PORT  unix:PATH  abstract:NAME
use strict;
use IO::Handle;
use warnings;
use Socket;
use Errno;
use IO::Select;
my %names = map { my $name = $_; my $number = Errno->can($name)->(); $number => $name } grep { /^E/ } keys %!;
for my $target (@ARGV) {
  my ($kind, $rest) = split /:/, $target, 2;
  my ($family, $type, $address) = (AF_INET, SOCK_STREAM, undef);
  if ($kind eq 'unix' or $kind eq 'abstract') {
    $family = AF_UNIX;
    $address = pack 'S a*', AF_UNIX, $kind eq 'unix' ? $rest : "\0$rest";
  } else {
    my ($host, $port) = $rest =~ /^(.*):(\d+)$/;
    $type = SOCK_DGRAM if $kind eq 'udp';
    $family = AF_INET6 if $kind eq 'tcp6';
    my $packed = Socket::inet_pton($family, $host);
    $address = $family == AF_INET6 ? pack_sockaddr_in6($port, $packed) : pack_sockaddr_in($port, $packed);
  }
  if (!socket(my $socket, $family, $type, 0)) {
    print "$target ", $names{$! + 0} // $! + 0, "\n";
  } else {
    $socket->blocking(0);
    my $result = connect($socket, $address) ? 'connected' : $names{$! + 0} // $! + 0;
    if ($result eq 'EINPROGRESS') {
      $result = 'ETIMEDOUT';
      if (IO::Select->new($socket)->can_write(2)) {
        my $error = unpack 'i', getsockopt($socket, SOL_SOCKET, SO_ERROR);
        $result = $error ? $names{$error} // $error : 'connected';
      }
    }
    $result = defined(send $socket, 'x', 0) ? 'sent' : $names{$! + 0} if $kind eq 'udp' and $result eq 'connected';
    print "$target $result\n";
  }
}
print "done\n";
