# Takes memory in pieces of 16 MiB and holds it all at once: KIND MEBIBYTES PROCESSES. Prints how much was held.
# private: of the process alone   shared: a mapping   memfd: a file without a name   file: a file in PLACE
use strict;
use warnings;
require POSIX;
my ($kind, $mebibytes, $processes, $place) = @ARGV;
my $piece = 16;
my $each = int($mebibytes / $processes);
my $arm = `uname -m` =~ /aarch64/;
my (@children, @pipes);
for my $number (1 .. $processes) {
  pipe(my $read, my $write);
  my $pid = fork;
  if (!defined $pid) { last }
  if (!$pid) {
    close $read;
    my ($held, @pieces) = (0);
    my $file;
    if ($kind eq 'memfd') {
      my $descriptor = syscall($arm ? 279 : 319, my $name = 'hog', 0);
      open $file, '+<&=', $descriptor if $descriptor >= 0;
    }
    open $file, '>', "$place/hog-$$" if $kind eq 'file';
    while ($held < $each) {
      if ($kind eq 'private') { push @pieces, "a" x ($piece << 20) }
      elsif ($kind eq 'shared') {
        my $at = syscall($arm ? 222 : 9, 0, $piece << 20, 3, 0x8021, -1, 0);
        last if $at == -1;
      } else { syswrite($file, "a" x ($piece << 20)) or last }
      $held += $piece;
      syswrite $write, pack 'N', $held;
    }
    close $write;
    sleep 30;
    POSIX::_exit(0);
  }
  close $write;
  push @children, $pid;
  push @pipes, $read;
}
my $total = 0;
for my $pipe (@pipes) {
  my $held = 0;
  while (sysread $pipe, my $word, 4) { $held = unpack 'N', $word }
  $total += $held;
}
# Who was killed meanwhile holds nothing.
select undef, undef, undef, 0.5;
my $alive = 0;
for my $pid (@children) { $alive++ if waitpid($pid, 1) == 0 }
print "held ", $alive ? int($total * $alive / @children) : 0, "\n";
kill 'KILL', @children;
unlink map { "$place/hog-$_" } @children if $kind eq 'file';
print "done\n";
