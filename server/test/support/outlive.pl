# Run inside a sandbox (x86_64): takes from process 1 and from its own shell the signal that ends them with their parent
# (prctl PR_SET_PDEATHSIG 0, made to run in them by ptrace), then sleeps $ARGV[0] seconds in a session of its own.
use strict;
use warnings;
use constant { PTRACE => 101, GETREGS => 12, SETREGS => 13, SINGLESTEP => 9, ATTACH => 16, DETACH => 17, PRCTL => 157 };

sub set_free {
    my ($pid) = @_;
    return "attach $pid: $!" if syscall(PTRACE, ATTACH, $pid, 0, 0) != 0;
    syscall(61, $pid, 0, 0x40000000, 0);    # wait4 with __WALL
    my $before = "\0" x (27 * 8);
    syscall(PTRACE, GETREGS, $pid, 0, $before) == 0 or return "registers of $pid: $!";
    my @registers = unpack 'Q27', $before;
    @registers[10, 14, 13, 15] = (PRCTL, 1, 0, -1);    # rax, rdi, rsi, orig_rax
    $registers[16] -= 2;                               # rip: back onto the instruction it waits in
    my $call = pack 'Q27', @registers;
    syscall(PTRACE, SETREGS, $pid, 0, $call);
    syscall(PTRACE, SINGLESTEP, $pid, 0, 0);
    syscall(61, $pid, 0, 0x40000000, 0);
    my $after = "\0" x (27 * 8);
    syscall(PTRACE, GETREGS, $pid, 0, $after);
    my $result = (unpack 'Q27', $after)[10];
    syscall(PTRACE, SETREGS, $pid, 0, $before);
    syscall(PTRACE, DETACH, $pid, 0, 0);
    return "prctl in $pid: $result" if $result != 0;
    return '';
}

$| = 1;
my $failure = join ', ', grep { $_ } map { set_free($_) } 1, getppid;
exit if fork;
syscall(112);    # setsid
exit if fork;
print $failure eq '' ? "free\n" : "not free: $failure\n";
open STDIN, '<', '/dev/null';
exec 'sleep', $ARGV[0];
