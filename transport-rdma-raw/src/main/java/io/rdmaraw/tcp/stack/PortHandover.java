package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.segment.Segment;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiPredicate;

/**
 * What the stacks of a process do with segments that belong to none of their connections while another process has the
 * same listening ports, because one takes them over from the other. Both get all segments of these ports; the
 * connections tell whose they are. So each answers for its own, only one answers SYNs, and neither answers what it does
 * not know by a reset. Any thread.
 */
public final class PortHandover {
    /** How the process stands to the other one. */
    public enum Role {
        /** There is no other process. */
        ALONE,
        /** The successor, before it serves: the predecessor answers everything. */
        WAITING,
        /** The successor that opens connections, while connections of the predecessor live. */
        BESIDE,
        /** The predecessor that opens none any more, and passes on what is for none of its own. */
        PASSING_ON,
        /** The predecessor, after that: its connections live, and nothing else concerns it. */
        DRAINING
    }

    /**
     * A port that both processes have. The same number on another address may be the predecessor's alone.
     *
     * @param local may be a wildcard
     */
    public record Shared(IpAddress local, int port) {
        boolean isFor(Segment segment) {
            return port == segment.destinationPort && (local.isAny()
                    || local.high() == segment.destinationHigh && local.low() == segment.destinationLow);
        }
    }

    private volatile Role role = Role.ALONE;
    /** Is never changed, only replaced. */
    private volatile Shared[] ports = {};
    /** Takes a frame that stays the caller's; false when there is no room for it. */
    private volatile BiPredicate<TcpStack, ByteBuf> successor = (stack, frame) -> false;

    /** Returns how the process stands to the other one. */
    public Role role() {
        return role;
    }

    /** Sets which ports both processes have, and what to do with what comes for them. */
    public void begin(Collection<Shared> shared, Role first) {
        ports = shared.toArray(Shared[]::new);
        role = first;
    }

    /** As {@link #begin}, and has what opens connections passed on. */
    public void passOn(Collection<Shared> shared, BiPredicate<TcpStack, ByteBuf> to) {
        successor = to;
        begin(shared, Role.PASSING_ON);
    }

    /** Sets another role. */
    public void role(Role next) {
        role = next;
    }

    /**
     * Has the stacks take everything that the device has for them now, in the role of now. Completed when all have;
     * from then on they know of a role that was set before.
     */
    public static CompletableFuture<Void> settle(Collection<TcpStack> stacks) {
        List<CompletableFuture<Void>> done = stacks.stream().map(stack -> {
            CompletableFuture<Void> one = new CompletableFuture<>();
            stack.executeOrElse(() -> {
                try {
                    stack.pollAll();
                } finally {
                    one.complete(null);
                }
            }, () -> one.complete(null));
            return one;
        }).toList();
        return CompletableFuture.allOf(done.toArray(CompletableFuture[]::new));
    }

    boolean isShared(Segment segment) {
        for (Shared port : ports) {
            if (port.isFor(segment)) {
                return true;
            }
        }
        return false;
    }

    /** The core has no connection for a segment; returns whether it is taken care of. On the stack's loop. */
    boolean take(TcpStack stack, Segment segment) {
        Role now = role;
        if (now == Role.ALONE || now == Role.BESIDE || !isShared(segment)) {
            return false;
        }
        ReceivedFrame received = stack.receiver().current();
        int passed = now == Role.PASSING_ON ? passOn(stack, received) : 0;
        stack.counters().handedOverSegments += passed;
        stack.counters().droppedForOtherProcess += received.count() - passed;
        return true;
    }

    /** Passes on each of the frames that the core has taken for one segment; returns for how many there was room. */
    int passOn(TcpStack stack, ReceivedFrame received) {
        int passed = 0;
        for (int i = 0; i < received.count(); i++) {
            passed += successor.test(stack, received.frame(i)) ? 1 : 0;
        }
        return passed;
    }

    /** Tells whether a segment that is of no connection is answered by a reset. On the stack's loop. */
    boolean mayReset(TcpStack stack, Segment segment) {
        if (role == Role.ALONE || !isShared(segment)) {
            return true;
        }
        stack.counters().droppedForOtherProcess++;
        return false;
    }
}
