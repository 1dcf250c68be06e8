package io.rdmaraw.tcp.stack;

import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * Location of a connection: the stack that owns it, the stack it is moving to, and the stacks that forward its
 * segments. A connection moves when its channel is registered with another loop. Its flow rules remain with the stack
 * that opened it.
 */
final class ConnectionLocation {
    private static final AtomicReferenceFieldUpdater<ConnectionLocation, Placement> PLACEMENT =
            AtomicReferenceFieldUpdater.newUpdater(ConnectionLocation.class, Placement.class, "placement");

    private final TcpTransport transport;
    /** Stack that owns the flow rules of the connection. */
    private final TcpStack homeStack;
    private volatile Placement placement;
    /** Further stacks that receive segments of the connection and forward them; null if there are none. */
    private volatile Set<TcpStack> forwarders;

    ConnectionLocation(TcpTransport transport, TcpStack homeStack) {
        this.transport = transport;
        this.homeStack = homeStack;
        placement = homeStack.placement();
    }

    /**
     * A consistent pair of owner and destination.
     *
     * @param owner the stack that owns the connection; changes on the destination's loop when the connection arrives
     * @param destination the stack that the connection is moving to; equals {@code owner} if it is not moving
     */
    record Placement(TcpStack owner, TcpStack destination) {
    }

    TcpStack stack() {
        return placement.owner;
    }

    /** Returns the stack to forward segments to. It owns the connection, or forwards the segments in turn. */
    TcpStack forwardingTarget() {
        return placement.destination;
    }

    /** Sets the location of a connection that has ended together with its loop. */
    void setStack(TcpStack destination) {
        placement = destination.placement();
    }

    /**
     * Moves the connection. Called on the loop that owns it.
     *
     * @param open whether the connection is open
     * @param onArrival runs on the destination's loop and adopts the connection there
     */
    void moveTo(TcpStack destination, boolean open, Runnable onArrival) {
        Placement previous = placement;
        TcpStack from = previous.owner;
        from.unmarkReady(transport);
        if (open) {
            from.releaseConnection(transport);
            if (from != homeStack) {
                // Segments that the home stack has forwarded to this stack may still be queued.
                addForwarder(from);
            }
        }
        destination.executeOrElse(() -> {
            placement = destination.placement();
            onArrival.run();
        }, () -> {
            // The destination loop has ended, and the channel with it. A new Placement makes the compareAndSet below
            // fail.
            placement = new Placement(from, from);
            if (open) {
                from.adoptConnection(transport);
                transport.connection().abort();
            }
        });
        // The move is published after the task is enqueued. If a segment reached the destination before the connection,
        // the destination would reset it. Until then this stack forwards the segments. The update fails if the
        // connection has already arrived.
        PLACEMENT.compareAndSet(this, previous, new Placement(from, destination));
    }

    /** Runs a task on the loop that owns the connection. May be called on any thread. */
    void runOnLoop(Runnable task) {
        runOnLoop(task, () -> { });
    }

    /**
     * Like {@link #runOnLoop(Runnable)}. If that loop has ended, {@code onLoopEnded} runs when its stack has ended too.
     */
    void runOnLoop(Runnable task, Runnable onLoopEnded) {
        Placement current = placement;
        if (!current.owner.isOnLoop()) {
            enqueueOn(current.owner, current, task, onLoopEnded);
        } else if (current.destination != current.owner) {
            // The connection is moving: its arrival is already a task of the destination loop.
            enqueueOn(current.destination, current, task, onLoopEnded);
        } else {
            task.run();
        }
    }

    private void enqueueOn(TcpStack stack, Placement observed, Runnable task, Runnable onLoopEnded) {
        stack.executeOrElse(() -> runOnLoop(task, onLoopEnded), () -> onRejected(stack, observed, task, onLoopEnded));
    }

    /**
     * Handles a loop that rejected a task because it has ended. The connection has ended with it, unless it moved
     * before or is still moving.
     */
    private void onRejected(TcpStack by, Placement observed, Runnable task, Runnable onLoopEnded) {
        Placement current = placement;
        if (current != observed) {
            runOnLoop(task, onLoopEnded);
        } else if (current.destination != by) {
            enqueueOn(current.destination, current, task, onLoopEnded);
        } else {
            // The last tasks of the loop may still move the connection away.
            by.whenReleased(() -> {
                if (placement == current) {
                    onLoopEnded.run();
                } else {
                    runOnLoop(task, onLoopEnded);
                }
            });
        }
    }

    /**
     * Runs {@code change} on the loop that owns the connection. If the connection moves before that, {@code ifMoved}
     * runs on its new loop instead. May be called on any thread.
     */
    void runOnOwner(Runnable change, Runnable ifMoved) {
        Placement observed = placement;
        if (observed.owner.isOnLoop()) {
            runIfUnmoved(observed, change, ifMoved);
        } else {
            observed.owner.executeOrElse(() -> runIfUnmoved(observed, change, ifMoved), () -> runOnLoop(ifMoved));
        }
    }

    private void runIfUnmoved(Placement observed, Runnable change, Runnable ifMoved) {
        if (placement == observed && observed.destination == observed.owner) {
            change.run();
        } else {
            runOnLoop(ifMoved);
        }
    }

    /**
     * Adds a stack other than {@link #homeStack} that receives segments of the connection. It forwards them until the
     * connection ends.
     */
    void addForwarder(TcpStack forwarder) {
        Set<TcpStack> all = new HashSet<>(forwarders == null ? Set.of() : forwarders);
        all.add(forwarder);
        forwarders = all;
    }

    /** Returns whether other stacks forward segments of the connection. May be called on any thread. */
    boolean isForwarded() {
        return forwarders != null;
    }

    /** Ends forwarding and releases the flow rules, because the connection has ended. */
    void end() {
        Set<TcpStack> oldForwarders = forwarders;
        if (oldForwarders != null) {
            forwarders = null;
            oldForwarders.forEach(forwarder -> forwarder.execute(() -> forwarder.stopForwarding(transport)));
        }
        if (homeStack.isOnLoop()) {
            homeStack.onTransportEnded(transport);
        } else {
            homeStack.executeOrElse(() -> homeStack.onTransportEnded(transport), () -> transport.port().release(null));
        }
    }
}
