# Opens each path, for reading (`r`, then prints the path when there was a byte) or for writing (`w`, nothing is written;
# a program that is running counts, since only that it runs forbids it). Patterns are expanded.
use strict;
use warnings;
use Fcntl;
use Errno qw(ETXTBSY);
my ($how, @patterns) = @ARGV;
for my $path (map { my @found = glob $_; @found ? @found : $_ } @patterns) {
  next if -d $path;
  my ($file, $byte);
  if ($how eq 'w') {
    print "$path\n" if sysopen($file, $path, O_WRONLY | O_NONBLOCK) || $! == ETXTBSY;
  } else {
    print "$path\n" if sysopen($file, $path, O_RDONLY | O_NONBLOCK) && sysread($file, $byte, 1);
  }
}
print "done\n";
