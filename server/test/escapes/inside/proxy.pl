# Sends each argument to the proxy, `\r` and `\n` written so, and prints the first line of every answer to it.
use strict;
use warnings;
use Socket;
use IO::Select;
$SIG{PIPE} = 'IGNORE';
for my $text (@ARGV) {
  (my $bytes = $text) =~ s/\\r/\r/g;
  $bytes =~ s/\\n/\n/g;
  socket my $socket, AF_INET, SOCK_STREAM, 0 or die;
  connect $socket, pack_sockaddr_in(3128, INADDR_LOOPBACK) or die "no proxy: $!";
  syswrite $socket, $bytes;
  my $answer = '';
  my $until = time + 5;
  while (time < $until) {
    next unless IO::Select->new($socket)->can_read(1);
    last unless sysread $socket, $answer, 65536, length $answer;
    last if $answer =~ /^HTTP\S+ 200 Connection established\r\n\r\n/;
  }
  my @lines = $answer =~ /^(HTTP\S+ \d+[^\r\n]*|.*canary-\S+)/mg;
  print substr($text, 0, 100), ' => ', join(' | ', @lines) || 'nothing', "\n";
}
print "done\n";
