package io.rdmaraw.tcp.stack;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.segment.Segment;
import io.rdmaraw.tcp.stack.receive.ReceivedFrames;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiPredicate;

/**
 * Decides how the stacks of a process handle unmatched segments while another process has the same listening ports.
 * This is the case when one process takes over the ports of the other. Both processes receive all segments of these
 * ports. Each one processes the segments of its connections, and only one of them accepts SYNs. Neither answers an
 * unmatched segment with a reset. Thread-safe.
 */
public final class PortHandover {
    /** The part that this process plays in the takeover. */
    public enum Role {
        /** There is no other process. */
        ALONE,
        /** The successor before it serves. The predecessor answers all segments. */
        WAITING,
        /** The successor after it has begun to accept connections, while the predecessor still has open ones. */
        SERVING,
        /** The predecessor after it has stopped accepting connections. It forwards unmatched segments. */
        FORWARDING,
        /** The predecessor at the end. It serves only its open connections. */
        DRAINING
    }

    /**
     * A port that both processes listen on. The predecessor alone may have the same port on another address.
     *
     * @param local the local address, which may be a wildcard
     */
    public record HandoverPort(IpAddress local, int port) {
        boolean matches(Segment segment) {
            return port == segment.destinationPort && (local.isAny()
                    || local.high() == segment.destinationHigh && local.low() == segment.destinationLow);
        }
    }

    private volatile Role role = Role.ALONE;
    /** Never modified, only replaced. */
    private volatile HandoverPort[] ports = {};
    /** Forwards a frame and returns whether there was room for it. The caller retains ownership of the frame. */
    private volatile BiPredicate<TcpStack, ByteBuf> forwarder = (stack, frame) -> false;

    /** Returns the role of this process. */
    public Role role() {
        return role;
    }

    /** Sets the shared ports and the role. */
    public void begin(Collection<HandoverPort> handoverPorts, Role initialRole) {
        ports = handoverPorts.toArray(HandoverPort[]::new);
        role = initialRole;
    }

    /** Like {@link #begin} with the role {@link Role#FORWARDING}. Unmatched segments are forwarded to {@code to}. */
    public void startForwarding(Collection<HandoverPort> handoverPorts, BiPredicate<TcpStack, ByteBuf> to) {
        forwarder = to;
        begin(handoverPorts, Role.FORWARDING);
    }

    /** Sets the role. The ports remain. */
    public void role(Role next) {
        role = next;
    }

    /**
     * Makes the stacks process all frames that the device has received so far, in the present role. When the returned
     * future completes, all stacks have seen the role that was set before this call.
     */
    public static CompletableFuture<Void> processReceived(Collection<TcpStack> stacks) {
        List<CompletableFuture<Void>> done = stacks.stream().map(stack -> {
            CompletableFuture<Void> one = new CompletableFuture<>();
            stack.executeOrElse(() -> {
                try {
                    stack.receiveAll();
                } finally {
                    one.complete(null);
                }
            }, () -> one.complete(null));
            return one;
        }).toList();
        return CompletableFuture.allOf(done.toArray(CompletableFuture[]::new));
    }

    boolean isOnHandoverPort(Segment segment) {
        for (HandoverPort port : ports) {
            if (port.matches(segment)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Handles a segment that matches no connection. Returns false if the stack must handle it. Called on the stack's
     * loop.
     */
    boolean handleUnmatched(TcpStack stack, Segment segment) {
        Role now = role;
        if (now == Role.ALONE || now == Role.SERVING || !isOnHandoverPort(segment)) {
            return false;
        }
        ReceivedFrames received = (ReceivedFrames) segment.frames;
        int forwarded = now == Role.FORWARDING ? forward(stack, received) : 0;
        stack.statistics().handedOverSegments += forwarded;
        stack.statistics().droppedForOtherProcess += received.count() - forwarded;
        return true;
    }

    /**
     * Forwards the frames that the engine has merged into one segment. Returns the number of frames there was room for.
     */
    int forward(TcpStack stack, ReceivedFrames received) {
        int forwarded = 0;
        for (int i = 0; i < received.count(); i++) {
            forwarded += forwarder.test(stack, received.frame(i)) ? 1 : 0;
        }
        return forwarded;
    }

    /** Returns whether an unmatched segment may be answered with a reset. Called on the stack's loop. */
    boolean mayReset(TcpStack stack, Segment segment) {
        if (role == Role.ALONE || !isOnHandoverPort(segment)) {
            return true;
        }
        stack.statistics().droppedForOtherProcess++;
        return false;
    }
}
