package io.rdmaraw.tcp.stack;

import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.ffi.Errno;
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

/** A loop that serves a {@link ListeningPort}: its share of the rules, and its listener. For the loop's thread. */
final class ListeningLoop {
    /** What the core knows a listener by. */
    record Listening(ListeningPort port, ConnectionAcceptor server) {
    }

    private final ListeningPort port;
    private final TcpStack stack;
    private final TcpFrameReceiver events;
    private final Map<FlowSpec, TcpFrameReceiver> steered = new HashMap<>();
    private final Runnable onHostChange;
    private TcpNetwork.Binding share;
    private TcpListener listener;
    private boolean joined;
    private boolean steers;
    /** It is about to leave the port to other loops, and joins no more rules. */
    private volatile boolean leaving;
    /** It has left the port to other loops. */
    private volatile boolean left;
    /** Rules that it could not leave. */
    private final Set<FlowSpec> kept = new HashSet<>();
    /** The event loop has ended. */
    private volatile boolean gone;
    /** Completes when the loop has joined the rules that were in force. */
    private volatile CompletableFuture<Void> joining = new CompletableFuture<>();
    /** The server has closed, and others share its port ({@code SO_REUSEPORT}). */
    private boolean leftToSharers;
    /** The port has been given back. */
    private boolean ended;
    private final Runnable whenGone = this::gone;
    private boolean watchesEnd;

    ListeningLoop(ListeningPort port, TcpStack stack) {
        this.port = port;
        this.stack = stack;
        events = new DeviceEventsReceiver();
        onHostChange = port::followHost;
    }

    TcpStack stack() {
        return stack;
    }

    /** Tells whether the loop has left the port to others. Any thread. */
    boolean hasLeft() {
        return left;
    }

    /** Tells whether the port's rules are to lead here. Any thread. */
    boolean isServing() {
        return !leaving && !gone;
    }

    /** Returns what completes when the loop has joined the port. Any thread. */
    CompletableFuture<Void> joining() {
        return joining;
    }

    /** The loop is about to join, again if it has left: by {@link #beginJoining}, which is to be given the result. */
    CompletableFuture<Void> willJoin() {
        CompletableFuture<Void> begun = new CompletableFuture<>();
        joining = begun;
        return begun;
    }

    /** Has the loop join the port. What it has joined before a failure it serves. Any thread. */
    void beginJoining(CompletableFuture<Void> begun) {
        stack.executeOrElse(() -> {
            if (ended || stack.isOver()) {
                gone |= stack.isOver();
                begun.completeExceptionally(new IllegalStateException("the port, or the loop's queue, is gone"));
                return;
            }
            leaving = false;
            left = false;
            kept.clear();
            try {
                join();
            } catch (RuntimeException e) {
                begun.completeExceptionally(e);
            }
            listen(port.server());
            if (!watchesEnd) {
                watchesEnd = true;
                stack.onceGone(whenGone);
            }
            begun.complete(null);
        }, () -> {
            gone = true;
            begun.completeExceptionally(new RejectedExecutionException("the event loop has ended"));
        });
    }

    private void gone() {
        gone = true;
        port.takeBack();
    }

    void join() {
        if (ended) {
            return;
        }
        if (!joined) {
            joined = true;
            share = stack.network().join(port.binding());
            stack.port().attach(events, List.of());
            stack.network().follow(onHostChange);
            // Earlier changes were not reported.
            port.followHost();
        }
        steer();
        steers = true;
        if (!leaving) {
            joining.complete(null);
        }
    }

    /** Joins the port, if that is yet to be done, and listens. */
    void serve(ConnectionAcceptor listening) {
        // Tags of rules that others have replaced are looked after by who did it.
        if (!joined) {
            join();
        }
        listen(listening);
    }

    /** Receives by the rules that are in force, and by no others; by none when it has left. */
    void steer() {
        if (!joined) {
            return;
        }
        synchronized (port) {
            List<FlowSpec> inForce = ended ? List.of() : port.inForce();
            if (left) {
                inForce = inForce.stream().filter(kept::contains).toList();
            }
            for (FlowSpec rule : List.copyOf(steered.keySet())) {
                if (!inForce.contains(rule)) {
                    stack.port().detach(steered.remove(rule));
                }
            }
            VerbsException cause = null;
            for (FlowSpec rule : inForce) {
                if (!leaving && !steered.containsKey(rule)) {
                    cause = cause != null ? cause : trySteer(rule);
                }
            }
            if (cause != null) {
                // Who opens the port has to have a rule.
                if (steered.isEmpty() && !steers) {
                    throw cause;
                }
                port.keepRules(steered.keySet(), cause);
            }
        }
    }

    /** Returns why the device has no room for a rule that the loop is the first to join, or null. */
    private VerbsException trySteer(FlowSpec rule) {
        TcpFrameReceiver made = new TcpFrameReceiver(stack);
        try {
            stack.port().attach(made, List.of(), List.of(rule), port.isReusePort() ? null : port);
        } catch (VerbsException e) {
            if (!port.isReusePort() || !isFull(e)) {
                throw e;
            }
            return e;
        }
        steered.put(rule, made);
        return null;
    }

    /** Tells whether a device has no room for a rule, which is no fault of the rule's. */
    static boolean isFull(VerbsException e) {
        return e.errno() == Errno.ENOMEM || e.errno() == Errno.ENOSPC;
    }

    /** @param listening the server, which may be another one by now; null for none */
    void listen(ConnectionAcceptor listening) {
        if (!ended && listening != null && listener == null && port.server() == listening) {
            IpAddress local = port.binding().local();
            boolean any = local.isAny();
            listener = stack.engine().listen(any ? 0 : local.high(), any ? 0 : local.low(), port.binding().port(),
                    listening.backlog(), new Listening(port, listening));
            listening.applyOptions(listener);
        }
    }

    void stopListening() {
        if (listener == null) {
            return;
        }
        listener.close();
        listener = null;
        if (port.isReusePort() && !ended && !leftToSharers) {
            leftToSharers = true;
            stack.crossLoopLookup().sharerClosed();
        }
    }

    int halfOpen() {
        return listener == null ? 0 : listener.halfOpen();
    }

    /**
     * Receives no more for the port, unless no other loop does by now. It goes on listening: who has sent a SYN to it
     * is shaking hands with it, and what others pass on comes here.
     */
    void leave() {
        synchronized (port) {
            if (ended || !port.isServedWithout(this)) {
                return;
            }
            // Those too that another thread has just opened with this loop among those that receive.
            steer();
            leaving = true;
        }
        steered.forEach((rule, receiver) -> {
            if (!stack.port().leaveToOthers(receiver)) {
                kept.add(rule);
            }
        });
        // What they have brought is still under their tags.
        stack.pollAll();
        left = true;
        steer();
    }

    /** The port is given back. */
    void end() {
        ended = true;
        stopListening();
        if (leftToSharers) {
            leftToSharers = false;
            stack.crossLoopLookup().sharerGone();
        }
        stack.notOnceGone(whenGone);
        stack.network().unfollow(onHostChange);
        stack.port().detach(events);
        steer();
        if (share != null) {
            share.close();
        }
    }

    /** No SYN comes by a device that is gone or has no link, so listeners have to be told. */
    private final class DeviceEventsReceiver extends TcpFrameReceiver {
        DeviceEventsReceiver() {
            super(stack);
        }

        @Override
        public void queueEvent(QueueEvent event) {
            ConnectionAcceptor listening = port.server();
            // The device's events come to each loop of it; of those before its end one is enough.
            boolean tells = switch (event.kind()) {
                case DEVICE_REMOVED -> true;
                case PORT_DOWN, PORT_UP -> port.isFirst(stack());
                case RECOVERED, QUEUE_FAILED -> false;
            };
            if (tells && listening != null) {
                listening.queueEvent(event);
            }
        }
    }
}
