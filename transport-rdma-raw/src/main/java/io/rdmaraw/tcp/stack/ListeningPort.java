package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.QueueEvent;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.RssFlowOwner;
import io.rdmaraw.ffi.Errno;
import io.rdmaraw.host.FlowMatches;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.tcp.TcpListener;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * A port that a server channel listens on, on all loops that serve it: each rule leads to an RSS queue pair over their
 * queues, and each loop has a listener and the connections that the hash brought it. A rule is in force for all loops
 * from the beginning, as connections would be lost to each that joined later.
 *
 * <p>A server on the wildcard address has a rule for each address of the link, and they follow the addresses. What the
 * device has no room for goes by the kernel's socket of the same port, or by the rule of a host of our own.
 */
public final class ListeningPort extends TcpPort implements RssFlowOwner {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(ListeningPort.class);

    private final List<Member> members = new ArrayList<>();
    private final RssFlows flows;
    /** A port that other servers may share: each of them joins its rules for itself. */
    private final boolean reusePort;
    /** Rules that are in force, and those that the device had no room for. Guarded by this. */
    private List<FlowSpec> rules = List.of();
    private List<FlowSpec> refused = List.of();
    private boolean withdrawn;
    /** The rules leave the segments to others too. Guarded by this. */
    private boolean copies;
    /** Who listens; null when the port is kept for its connections alone. */
    private volatile ConnectionAcceptor server;

    /** A loop that serves the port. For its thread. */
    private final class Member {
        private final TcpStack stack;
        private final TcpFrameReceiver events;
        private final Map<FlowSpec, TcpFrameReceiver> steered = new HashMap<>();
        private final Runnable onHostChange = this::hostChanged;
        private TcpNetwork.Binding share;
        private TcpListener listener;
        private boolean joined;
        private boolean steers;

        Member(TcpStack stack) {
            this.stack = stack;
            events = new ListeningSteering(stack);
        }

        private void join() {
            if (!joined) {
                joined = true;
                share = stack.network().join(binding());
                stack.port().attach(events, List.of());
                stack.network().follow(onHostChange);
                // Earlier changes were not reported.
                hostChanged();
            }
            steer();
            steers = true;
        }

        /** Receives by the rules that are in force, and by no others. */
        private void steer() {
            synchronized (ListeningPort.this) {
                List<FlowSpec> inForce = inForce();
                for (FlowSpec rule : List.copyOf(steered.keySet())) {
                    if (!inForce.contains(rule)) {
                        stack.port().detach(steered.remove(rule));
                    }
                }
                VerbsException cause = null;
                for (FlowSpec rule : inForce) {
                    if (!steered.containsKey(rule)) {
                        cause = cause != null ? cause : trySteer(rule);
                    }
                }
                if (cause != null) {
                    keepSteered(cause);
                }
            }
        }

        /** Returns why the device has no room for a rule that the loop is the first to join, or null. */
        private VerbsException trySteer(FlowSpec rule) {
            TcpFrameReceiver made = new TcpFrameReceiver(stack);
            try {
                stack.port().attach(made, List.of(), List.of(rule));
            } catch (VerbsException e) {
                if (!reusePort || !isFull(e)) {
                    throw e;
                }
                return e;
            }
            steered.put(rule, made);
            return null;
        }

        /** Of a port that others share the loop's rules are all there are; who opens it has to have one. */
        private void keepSteered(VerbsException cause) {
            if (steered.isEmpty() && !steers) {
                throw cause;
            }
            List<FlowSpec> withoutRoom = new ArrayList<>(rules);
            withoutRoom.removeAll(steered.keySet());
            rules = List.copyOf(steered.keySet());
            keepFromKernel(rules);
            noteRefused(withoutRoom, cause);
        }

        private void hostChanged() {
            try {
                if (update(false)) {
                    members.forEach(member -> member.stack.onLoop(member::steer));
                }
            } catch (RuntimeException e) {
                LOGGER.warn("port {} is still steered by addresses that the host no longer has", binding().port(), e);
            }
        }

        private void listen(ConnectionAcceptor listening) {
            if (listening != null && listener == null && server == listening) {
                IpAddress local = binding().local();
                boolean any = local.isAny();
                listener = stack.engine().listen(any ? 0 : local.high(), any ? 0 : local.low(), binding().port(),
                        listening.backlog(), listening);
                listening.applyOptions(listener);
            }
        }

        private void stopListening() {
            if (listener != null) {
                listener.close();
                listener = null;
            }
        }

        private void leave() {
            stack.network().unfollow(onHostChange);
            stack.port().detach(events);
            steer();
            if (share != null) {
                share.close();
            }
        }
    }

    /** No SYN comes by a device that is gone or has no link, so listeners have to be told. */
    private final class ListeningSteering extends TcpFrameReceiver {
        ListeningSteering(TcpStack stack) {
            super(stack);
        }

        @Override
        public void queueEvent(QueueEvent event) {
            ConnectionAcceptor listening = server;
            // The device's events come to each loop of it; of those before its end one is enough.
            boolean tells = switch (event.kind()) {
                case DEVICE_REMOVED -> true;
                case PORT_DOWN, PORT_UP -> stack() == members.getFirst().stack;
                case RECOVERED, QUEUE_FAILED -> false;
            };
            if (tells && listening != null) {
                listening.queueEvent(event);
            }
        }
    }

    private ListeningPort(TcpNetwork.Binding binding, List<TcpStack> stacks, ConnectionAcceptor server) {
        super(binding);
        this.server = server;
        reusePort = server.isReusePort();
        flows = stacks.getFirst().port().device().rssFlows();
        stacks.forEach(stack -> members.add(new Member(stack)));
    }

    /**
     * Listens on a port that was taken.
     *
     * @param stacks of the loops that are to serve it
     */
    public static ListeningPort open(TcpNetwork.Binding binding, List<TcpStack> stacks, ConnectionAcceptor server) {
        ListeningPort port = new ListeningPort(binding, stacks, server);
        try {
            port.update(true);
            port.tellMembers();
        } catch (RuntimeException e) {
            port.withdraw();
            binding.close();
            throw e;
        }
        return port;
    }

    /**
     * Brings the rules in force that the host's addresses want now, and takes the others away; returns whether there
     * was anything to do.
     *
     * @param opening whether it is an error when the device takes none of the rules
     */
    private synchronized boolean update(boolean opening) {
        List<FlowSpec> wanted = withdrawn ? List.of() : binding().flows();
        if (wanted.size() == rules.size() + refused.size() && wanted.containsAll(rules)
                && wanted.containsAll(refused)) {
            return false;
        }
        List<FlowSpec> gone = new ArrayList<>(rules);
        gone.removeAll(wanted);
        List<FlowSpec> kept = new ArrayList<>(rules);
        kept.removeAll(gone);
        List<FlowSpec> withoutRoom = new ArrayList<>();
        VerbsException cause = null;
        // Before the device brings anything the kernel must not answer it too.
        keepFromKernel(wanted);
        // On a device that is full what goes makes room for what comes.
        gone.forEach(rule -> flows.withdraw(onDevice(rule), this));
        try {
            for (FlowSpec rule : wanted) {
                VerbsException failure = kept.contains(rule) ? null : cause != null ? cause : tryOpen(rule);
                if (failure != null) {
                    cause = failure;
                    withoutRoom.add(rule);
                } else if (!kept.contains(rule)) {
                    kept.add(rule);
                }
            }
        } finally {
            rules = List.copyOf(kept);
            if (!withoutRoom.isEmpty()) {
                keepFromKernel(rules);
            }
        }
        if (opening && cause != null && rules.isEmpty()) {
            throw cause;
        }
        noteRefused(withoutRoom, cause);
        return true;
    }

    private void keepFromKernel(List<FlowSpec> taken) {
        ConnectionAcceptor listening = server;
        TcpNetwork.Steered steered = binding().steered(taken);
        if (listening != null && steered != null) {
            listening.keepFromKernel(steered);
        }
    }

    /**
     * Returns the stack that the device would bring a segment to by the port's rules; null when none of them is for it.
     *
     * @param hash the hash of the segment's flow, see {@link RssFlows#chosen}
     */
    synchronized TcpStack chosen(IpAddress destination, int destinationPort, int hash) {
        if (destinationPort == binding().port()) {
            for (FlowSpec rule : rules) {
                TcpNetwork.Steered steered = binding().steered(List.of(rule));
                if (steered != null && steered.addresses().contains(destination)) {
                    FrameQueue queue = flows.chosen(onDevice(rule), hash);
                    return members.stream().map(member -> member.stack)
                            .filter(stack -> stack.port().queue() == queue).findFirst().orElse(null);
                }
            }
        }
        return null;
    }

    /** Returns why the device has no room for a rule, or null: it is in force. */
    private VerbsException tryOpen(FlowSpec rule) {
        if (reusePort) {
            return null;
        }
        try {
            open(onDevice(rule));
            return null;
        } catch (VerbsException e) {
            if (!isFull(e)) {
                throw e;
            }
            return e;
        }
    }

    private void open(FlowSpec rule) {
        flows.open(rule, members.stream().map(member -> member.stack.port().queue()).toList(), this);
    }

    /** Returns the rule by which the device brings what one of {@link #rules} is for. */
    private FlowSpec onDevice(FlowSpec rule) {
        // Behind the other one, so that a frame comes once while both are in force.
        return copies ? rule.toBuilder().dontTrap().priority(FlowMatches.REST_PRIORITY).build() : rule;
    }

    private synchronized List<FlowSpec> inForce() {
        return rules.stream().map(this::onDevice).toList();
    }

    /**
     * Leaves the port's segments to another process too, of which each gets a copy then; or has them alone again. There
     * is no moment at which no rule is in force.
     *
     * @throws VerbsException when the device does not take the rules; those of before are in force then
     */
    public synchronized void share(boolean shared) {
        if (copies == shared || withdrawn) {
            return;
        }
        List<FlowSpec> before = inForce();
        copies = shared;
        List<FlowSpec> opened = new ArrayList<>();
        try {
            for (FlowSpec rule : inForce()) {
                open(rule);
                opened.add(rule);
            }
        } catch (VerbsException e) {
            opened.forEach(rule -> flows.withdraw(rule, this));
            copies = !shared;
            throw e;
        }
        before.forEach(rule -> flows.withdraw(rule, this));
        members.forEach(member -> member.stack.onLoop(() -> {
            // What the rules of before have brought is still under their tags.
            member.stack.pollAll();
            member.steer();
        }));
    }

    private static boolean isFull(VerbsException e) {
        return e.errno() == Errno.ENOMEM || e.errno() == Errno.ENOSPC;
    }

    private void noteRefused(List<FlowSpec> withoutRoom, VerbsException cause) {
        members.getFirst().stack.counters().unsteeredAddresses.add(withoutRoom.size() - refused.size());
        refused = List.copyOf(withoutRoom);
        if (cause != null) {
            LOGGER.warn("port {}: the device has no room for the rules of {} addresses, which are served by the kernel"
                    + " or by another loop: {}", binding().port(), refused.size(), cause.getMessage());
        }
    }

    private synchronized void closeRules() {
        withdrawn = true;
        inForce().forEach(rule -> flows.withdraw(rule, this));
        rules = List.of();
        noteRefused(List.of(), null);
    }

    /** Tells whether what the device brings by its rules reaches the kernel too. */
    public boolean isSeenByKernel() {
        return members.getFirst().stack.port().device().counters().kernelVisibleRules() > 0;
    }

    /** Returns the port that a rule of it belongs to, if it is still taken for connections of a server before. */
    public static ListeningPort find(TcpStack stack, List<FlowSpec> rules) {
        for (FlowSpec rule : rules) {
            if (stack.port().device().rssFlows().ownerOf(rule) instanceof ListeningPort port) {
                return port;
            }
        }
        return null;
    }

    /** Another server listens on the port; false when it has one, or is on other loops. */
    public boolean reopen(List<TcpStack> stacks, ConnectionAcceptor next) {
        Set<TcpStack> same = members.stream().map(member -> member.stack).collect(Collectors.toSet());
        if (server != null || !same.equals(Set.copyOf(stacks)) || !retain()) {
            return false;
        }
        server = next;
        binding().setListening(true);
        synchronized (this) {
            keepFromKernel(rules);
        }
        tellMembers();
        return true;
    }

    /** Returns the stacks of the loops that serve the port. */
    public List<TcpStack> stacks() {
        return members.stream().map(member -> member.stack).toList();
    }

    /** Counts the connections that live by the port: with half-open ones, without those in TIME-WAIT. Any thread. */
    public CompletableFuture<Integer> connectionCount() {
        AtomicInteger halfOpen = new AtomicInteger();
        List<CompletableFuture<Void>> counted = new ArrayList<>();
        for (Member member : members) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            counted.add(done);
            member.stack.executeOrElse(() -> {
                halfOpen.addAndGet(member.listener == null ? 0 : member.listener.halfOpen());
                done.complete(null);
            }, () -> done.complete(null));
        }
        // Those that open meanwhile are counted twice, and none is missed.
        return CompletableFuture.allOf(counted.toArray(CompletableFuture[]::new))
                .thenApply(done -> halfOpen.get() + users() - (server != null ? 1 : 0));
    }

    private void tellMembers() {
        ConnectionAcceptor listening = server;
        for (Member member : members) {
            member.stack.onLoop(() -> {
                member.join();
                member.listen(listening);
            });
        }
    }

    @Override
    public void joinBy(DeviceQueue port) {
        for (Member member : members) {
            if (member.stack.port() == port) {
                member.join();
                member.listen(server);
            }
        }
    }

    /** The server listens no more; its connections live on. Any thread. */
    public void stopListening() {
        server = null;
        binding().setListening(false);
        for (Member member : members) {
            member.stack.onLoop(member::stopListening);
        }
        TcpStack first = members.getFirst().stack;
        first.executeOrElse(() -> release(first), () -> release(null));
    }

    @Override
    void withdraw() {
        closeRules();
        for (Member member : members) {
            member.stack.onLoop(member::leave);
        }
    }
}
