package io.rdmaraw.tcp.stack;

import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;

/**
 * The membership of one loop in a {@link ListeningPort}: the flow rules that the loop has joined, and its listener in
 * the TCP engine. A loop that has joined a rule receives the frames that the rule's RSS hash assigns to it. It leaves
 * the rules when the port moves to other loops. Used on the loop's thread only, unless noted.
 */
final class ListeningLoop {
    /** Attachment of the engine's listener. */
    record ListenerAttachment(ListeningPort port, ConnectionAcceptor acceptor) {
    }

    private final ListeningPort port;
    private final TcpStack stack;
    private final TcpFrameReceiver eventReceiver;
    /** Joined rules, each with its receiver. */
    private final Map<FlowSpec, TcpFrameReceiver> receiverByRule = new HashMap<>();
    private final Runnable onHostChange;
    /** This loop's part of the port's binding; null if there is nothing to close. */
    private TcpNetwork.Binding loopBinding;
    private TcpListener listener;
    /** Set by the first call of {@link #join}. */
    private boolean hasJoinedBefore;
    /** Set once the loop has joined its first rules. After that, a full device is no error. */
    private boolean hasJoinedRules;
    /** Set if the loop is leaving the port because it moves to other loops. The loop joins no more rules. */
    private volatile boolean leaving;
    /** Set if the loop has left the port because it has moved to other loops. */
    private volatile boolean hasLeft;
    /** Rules that the loop could not leave, because the device could not install a rule without it. */
    private final Set<FlowSpec> remainingRules = new HashSet<>();
    /** Set if the event loop has ended. */
    private volatile boolean loopEnded;
    /** Completes when the loop has joined the current rules. */
    private volatile CompletableFuture<Void> joinFuture = new CompletableFuture<>();
    /** Set if the server of this loop has closed and other servers share the port ({@code SO_REUSEPORT}). */
    private boolean forwardsToReusePortServers;
    /** Set if the port has been released. */
    private boolean portReleased;
    private final Runnable releaseTask = this::onStackReleased;
    private boolean releaseTaskAdded;

    ListeningLoop(ListeningPort port, TcpStack stack) {
        this.port = port;
        this.stack = stack;
        eventReceiver = new DeviceEventsReceiver();
        onHostChange = port::applyHostChange;
    }

    TcpStack stack() {
        return stack;
    }

    /** Returns whether the loop has left the port. May be called on any thread. */
    boolean hasLeft() {
        return hasLeft;
    }

    /** Returns whether new rules of the port must include this loop. May be called on any thread. */
    boolean isServing() {
        return !leaving && !loopEnded;
    }

    /** Returns a future that completes when the loop has joined the port. May be called on any thread. */
    CompletableFuture<Void> joinFuture() {
        return joinFuture;
    }

    /** Announces that the loop will join, or join again after it has left. Pass the result to {@link #startJoining}. */
    CompletableFuture<Void> announceJoin() {
        CompletableFuture<Void> future = new CompletableFuture<>();
        joinFuture = future;
        return future;
    }

    /**
     * Makes the loop join the port. If it fails, the loop serves the rules that it has joined. May be called on any
     * thread.
     *
     * @param future completed when the loop has joined, or with the failure
     */
    void startJoining(CompletableFuture<Void> future) {
        stack.executeOrElse(() -> {
            if (portReleased || stack.isClosed()) {
                loopEnded |= stack.isClosed();
                future.completeExceptionally(new IllegalStateException("the port was released, or the queue of the loop"
                        + " was closed"));
                return;
            }
            leaving = false;
            hasLeft = false;
            remainingRules.clear();
            try {
                join();
            } catch (RuntimeException e) {
                future.completeExceptionally(e);
            }
            listen(port.acceptor());
            if (!releaseTaskAdded) {
                releaseTaskAdded = true;
                stack.whenReleased(releaseTask);
            }
            future.complete(null);
        }, () -> {
            loopEnded = true;
            future.completeExceptionally(new RejectedExecutionException("the event loop has ended"));
        });
    }

    private void onStackReleased() {
        loopEnded = true;
        port.returnToOwnLoops();
    }

    void join() {
        if (portReleased) {
            return;
        }
        if (!hasJoinedBefore) {
            hasJoinedBefore = true;
            loopBinding = stack.network().joinListener(port.binding());
            stack.deviceQueue().attach(eventReceiver, List.of());
            stack.network().addHostChangeListener(onHostChange);
            // Earlier changes of addresses were not reported.
            port.applyHostChange();
        }
        applyRules();
        hasJoinedRules = true;
        if (!leaving) {
            joinFuture.complete(null);
        }
    }

    /** Joins the port if necessary and starts the listener. */
    void serve(ConnectionAcceptor acceptor) {
        // A loop that has already joined need not check its rules: the thread that replaces rules notifies all loops.
        if (!hasJoinedBefore) {
            join();
        }
        listen(acceptor);
    }

    /**
     * Joins the installed rules and detaches from all others. A loop that has left the port keeps only the rules that
     * it could not leave.
     */
    void applyRules() {
        if (!hasJoinedBefore) {
            return;
        }
        synchronized (port) {
            List<FlowSpec> installed = portReleased ? List.of() : port.installedRules();
            if (hasLeft) {
                installed = installed.stream().filter(remainingRules::contains).toList();
            }
            for (FlowSpec rule : List.copyOf(receiverByRule.keySet())) {
                if (!installed.contains(rule)) {
                    stack.deviceQueue().detach(receiverByRule.remove(rule));
                }
            }
            VerbsException cause = null;
            for (FlowSpec rule : installed) {
                if (!leaving && !receiverByRule.containsKey(rule)) {
                    cause = cause != null ? cause : tryJoin(rule);
                }
            }
            if (cause != null) {
                // The first join needs at least one rule. Otherwise opening the port fails.
                if (receiverByRule.isEmpty() && !hasJoinedRules) {
                    throw cause;
                }
                port.recordJoinedRules(receiverByRule.keySet(), cause);
            }
        }
    }

    /**
     * Joins a rule. Returns null on success, or the error if the device has no room for the rule. The latter happens
     * only on a port with {@code SO_REUSEPORT}, where the loop may be the first to join.
     *
     * @throws VerbsException for any other error
     */
    private VerbsException tryJoin(FlowSpec rule) {
        TcpFrameReceiver receiver = new TcpFrameReceiver(stack);
        try {
            stack.deviceQueue().attach(receiver, List.of(), List.of(rule), port.isReusePort() ? null : port);
        } catch (VerbsException e) {
            if (!port.isReusePort() || !DeviceQueue.isTableFull(e)) {
                throw e;
            }
            return e;
        }
        receiverByRule.put(rule, receiver);
        return null;
    }

    /**
     * Starts the listener, unless the port has another server by now.
     *
     * @param acceptor the server, or null for none
     */
    void listen(ConnectionAcceptor acceptor) {
        if (!portReleased && acceptor != null && listener == null && port.acceptor() == acceptor) {
            IpAddress local = port.binding().local();
            boolean any = local.isAny();
            listener = stack.engine().listen(any ? 0 : local.high(), any ? 0 : local.low(), port.binding().port(),
                    acceptor.backlog(), new ListenerAttachment(port, acceptor));
            acceptor.applyOptions(listener);
        }
    }

    void stopListening() {
        if (listener == null) {
            return;
        }
        listener.close();
        listener = null;
        if (port.isReusePort()) {
            forwardToReusePortServers();
        }
    }

    /** Makes this loop forward SYNs for the port to the loops of other servers that share it. */
    void forwardToReusePortServers() {
        if (!portReleased && !forwardsToReusePortServers) {
            forwardsToReusePortServers = true;
            stack.crossLoopLookup().onReusePortServerClosed();
        }
    }

    int halfOpenCount() {
        return listener == null ? 0 : listener.halfOpenCount();
    }

    /**
     * Leaves the port's rules, unless this is the last loop that serves the port. The listener remains: this loop
     * completes its pending handshakes with the segments that other loops forward to it.
     */
    void leave() {
        synchronized (port) {
            if (portReleased || !port.isServedWithout(this)) {
                return;
            }
            // Also join the rules that another thread has just opened for this loop, so that it can leave them.
            applyRules();
            leaving = true;
        }
        receiverByRule.forEach((rule, receiver) -> {
            if (!stack.deviceQueue().withdrawFromRss(receiver)) {
                remainingRules.add(rule);
            }
        });
        // Frames already received still carry the flow tags of these rules. Process them before detaching.
        stack.receiveAll();
        hasLeft = true;
        applyRules();
    }

    /** Ends the membership, because the port is released. */
    void end() {
        portReleased = true;
        stopListening();
        if (forwardsToReusePortServers) {
            forwardsToReusePortServers = false;
            stack.crossLoopLookup().onReusePortServerReleased();
        }
        stack.cancelWhenReleased(releaseTask);
        stack.network().removeHostChangeListener(onHostChange);
        stack.deviceQueue().detach(eventReceiver);
        applyRules();
        if (loopBinding != null) {
            loopBinding.close();
        }
    }

    /** Reports events of the device to the server. If the device is removed or loses its link, no more SYNs arrive. */
    private final class DeviceEventsReceiver extends TcpFrameReceiver {
        DeviceEventsReceiver() {
            super(stack);
        }

        @Override
        public void onQueueEvent(QueueEvent event) {
            ConnectionAcceptor acceptor = port.acceptor();
            // Every loop of the device receives its events. All loops report a removal; only one reports a link change.
            boolean reports = switch (event.kind()) {
                case DEVICE_REMOVED -> true;
                case PORT_DOWN, PORT_UP -> port.isFirst(stack());
                case QUEUE_RECOVERED, QUEUE_FAILED -> false;
            };
            if (reports && acceptor != null) {
                acceptor.onQueueEvent(event);
            }
        }
    }
}
