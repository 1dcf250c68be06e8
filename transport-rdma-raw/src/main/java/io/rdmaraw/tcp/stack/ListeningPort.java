package io.rdmaraw.tcp.stack;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.RssFlowOwner;
import io.rdmaraw.host.FlowSpecs;
import io.rdmaraw.host.TcpNetwork;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.tcp.stack.port.TcpPort;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The port of a listening server channel, on all loops that serve it. Each flow rule leads to an RSS queue pair over
 * the queues of these loops. Each loop has a listener and owns the connections that the RSS hash assigns to it. A rule
 * includes all loops from the beginning: a loop that joined later would change the hash assignment of existing
 * connections.
 *
 * <p>A server on the wildcard address has one rule for each address of the link, and the rules follow changes of these
 * addresses. If the device has no room for a rule, the kernel socket of the same port or the userspace host receives
 * the segments.
 */
public final class ListeningPort extends TcpPort implements RssFlowOwner {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(ListeningPort.class);

    /** Copy on write, so that any thread may read it. */
    private volatile List<ListeningLoop> loops;
    /** The stacks of the server channel's own loops. They may have left the port to other loops. Guarded by this. */
    private Set<TcpStack> serverStacks;
    /** Number of calls of {@link #moveTo}. Guarded by this. */
    private int moveCount;
    /** Counters of the first stack; refused rules are counted there. */
    private final TcpStackStatistics statistics;
    private final RssFlows flows;
    /**
     * Whether servers share the port ({@code SO_REUSEPORT}). The rules then have no owner, and the loops of each server
     * join them.
     */
    private volatile boolean reusePort;
    /** Installed rules. The next field has the rules that the device had no room for. Guarded by this. */
    private List<FlowSpec> rules = List.of();
    private List<FlowSpec> rejectedRules = List.of();
    private boolean rulesRemoved;
    /** Whether another process receives a copy of the port's frames. Guarded by this. */
    private boolean sharedWithOtherProcess;
    /** The server; null if only connections still use the port. */
    private volatile ConnectionAcceptor acceptor;

    private ListeningPort(TcpNetwork.Binding binding, List<TcpStack> stacks, ConnectionAcceptor acceptor) {
        super(binding);
        this.acceptor = acceptor;
        flows = stacks.getFirst().deviceQueue().device().rssFlows();
        // The rules of a closed server that shared the port remain installed until its last connection ends.
        reusePort = acceptor.isReusePort() || binding.flows().stream().anyMatch(flows::isWithoutOwner);
        serverStacks = Set.copyOf(stacks);
        statistics = stacks.getFirst().statistics();
        loops = stacks.stream().map(stack -> new ListeningLoop(this, stack)).toList();
    }

    /**
     * Starts to listen on a bound port.
     *
     * @param stacks stacks of the loops that serve the port
     */
    public static ListeningPort open(TcpNetwork.Binding binding, List<TcpStack> stacks, ConnectionAcceptor acceptor) {
        ListeningPort port = new ListeningPort(binding, stacks, acceptor);
        try {
            port.updateRules(true);
            port.startServing();
        } catch (RuntimeException e) {
            port.acceptor = null;
            port.removeRules();
            binding.close();
            throw e;
        }
        return port;
    }

    /**
     * Installs the rules for the host's present addresses and removes all others. Returns whether anything has changed.
     *
     * @param opening whether to throw an exception if the device rejects all rules
     */
    private synchronized boolean updateRules(boolean opening) {
        List<FlowSpec> wanted = rulesRemoved ? List.of() : binding().flows();
        if (wanted.size() == rules.size() + rejectedRules.size() && wanted.containsAll(rules)
                && wanted.containsAll(rejectedRules)) {
            return false;
        }
        List<FlowSpec> obsolete = new ArrayList<>(rules);
        obsolete.removeAll(wanted);
        List<FlowSpec> installed = new ArrayList<>(rules);
        installed.removeAll(obsolete);
        List<FlowSpec> rejected = new ArrayList<>();
        VerbsException cause = null;
        // The kernel must not answer a segment that the device delivers, so exclude it before the rules are installed.
        filterKernelSocket(wanted);
        // Remove old rules first: on a full device they make room for the new ones.
        obsolete.forEach(rule -> flows.withdraw(asInstalled(rule), this));
        try {
            for (FlowSpec rule : wanted) {
                VerbsException failure = installed.contains(rule) ? null : cause != null ? cause : tryOpen(rule);
                if (failure != null) {
                    cause = failure;
                    rejected.add(rule);
                } else if (!installed.contains(rule)) {
                    installed.add(rule);
                }
            }
        } finally {
            rules = List.copyOf(installed);
            if (!rejected.isEmpty()) {
                filterKernelSocket(rules);
            }
        }
        if (opening && cause != null && rules.isEmpty()) {
            throw cause;
        }
        recordRejected(rejected, cause);
        return true;
    }

    private void filterKernelSocket(List<FlowSpec> steeredRules) {
        ConnectionAcceptor current = acceptor;
        TcpNetwork.SteeredAddresses steered = binding().steeredAddresses(steeredRules);
        if (current != null && steered != null) {
            current.filterKernelSocket(steered);
        }
    }

    /**
     * Returns the stack that the device would deliver a segment to. Returns null if no rule of the port matches.
     *
     * @param hash the hash of the segment's flow; see {@link RssFlows#chosen}
     */
    synchronized TcpStack stackFor(IpAddress destination, int destinationPort, int hash) {
        if (destinationPort == binding().port()) {
            for (FlowSpec rule : rules) {
                TcpNetwork.SteeredAddresses steered = binding().steeredAddresses(List.of(rule));
                if (steered != null && steered.addresses().contains(destination)) {
                    FrameQueue queue = flows.selectedQueue(asInstalled(rule), hash);
                    return loops.stream().map(ListeningLoop::stack)
                            .filter(stack -> stack.deviceQueue().frameQueue() == queue).findFirst().orElse(null);
                }
            }
        }
        return null;
    }

    /** Installs a rule. Returns null on success, or the error if the device has no room. */
    private VerbsException tryOpen(FlowSpec rule) {
        if (reusePort) {
            return null;
        }
        try {
            open(asInstalled(rule));
            return null;
        } catch (VerbsException e) {
            if (!DeviceQueue.isTableFull(e)) {
                throw e;
            }
            return e;
        }
    }

    private void open(FlowSpec rule) {
        flows.open(rule, servingLoops().map(loop -> loop.stack().deviceQueue().frameQueue()).toList(), this);
    }

    /** Returns the loops that receive frames for the port. */
    private Stream<ListeningLoop> servingLoops() {
        return loops.stream().filter(ListeningLoop::isServing);
    }

    /** Returns the form in which one of {@link #rules} is installed on the device. */
    private FlowSpec asInstalled(FlowSpec rule) {
        // With a lower priority than the exclusive rule, so that a frame is delivered once while both are installed.
        return sharedWithOtherProcess
                ? rule.toBuilder().dontTrap().priority(FlowSpecs.CATCH_ALL_PRIORITY).build() : rule;
    }

    synchronized List<FlowSpec> installedRules() {
        return rules.stream().map(this::asInstalled).toList();
    }

    /**
     * Starts or stops sharing the port's segments with another process, which then receives a copy of each. The new
     * rules are installed before the old ones are removed.
     *
     * @throws VerbsException if the device rejects the new rules; the old ones remain installed then
     */
    public synchronized void setSharedWithOtherProcess(boolean shared) {
        if (sharedWithOtherProcess == shared || rulesRemoved) {
            return;
        }
        List<FlowSpec> before = installedRules();
        sharedWithOtherProcess = shared;
        List<FlowSpec> opened = new ArrayList<>();
        try {
            for (FlowSpec rule : installedRules()) {
                open(rule);
                opened.add(rule);
            }
        } catch (VerbsException e) {
            opened.forEach(rule -> flows.withdraw(rule, this));
            sharedWithOtherProcess = !shared;
            throw e;
        }
        before.forEach(rule -> flows.withdraw(rule, this));
        loops.forEach(loop -> loop.stack().runOnLoop(() -> {
            // Frames already received carry the flow tags of the old rules. Process them before the loop detaches.
            loop.stack().receiveAll();
            loop.applyRules();
        }));
    }

    private void recordRejected(List<FlowSpec> rejected, VerbsException cause) {
        statistics.unsteeredAddresses.add(rejected.size() - rejectedRules.size());
        rejectedRules = List.copyOf(rejected);
        if (cause != null) {
            LOGGER.warn("port {}: the device has no room for the rules of {} addresses; the kernel or another loop"
                    + " serves them: {}", binding().port(), rejectedRules.size(), cause.getMessage());
        }
    }

    /** Adapts the rules to the host's addresses. Called on the loop that was notified first. */
    void applyHostChange() {
        try {
            if (updateRules(false)) {
                loops.forEach(loop -> loop.stack().runOnLoop(loop::applyRules));
            }
        } catch (RuntimeException e) {
            LOGGER.warn("port {}: cannot update the flow rules; those of previous addresses remain",
                    binding().port(), e);
        }
    }

    /**
     * Records the rules that the loop was able to join. Used for {@code SO_REUSEPORT}, where the loop installs the
     * rules itself.
     */
    synchronized void recordJoinedRules(Set<FlowSpec> steered, VerbsException cause) {
        List<FlowSpec> rejected = new ArrayList<>(rules);
        rejected.removeAll(steered);
        rules = List.copyOf(steered);
        filterKernelSocket(rules);
        recordRejected(rejected, cause);
    }

    boolean isReusePort() {
        return reusePort;
    }

    /** Returns the server; null if only connections still use the port. May be called on any thread. */
    ConnectionAcceptor acceptor() {
        return acceptor;
    }

    /** Returns whether a loop is the one that reports events on behalf of all loops. */
    boolean isFirst(TcpStack stack) {
        return first() == stack;
    }

    private TcpStack first() {
        List<ListeningLoop> all = loops;
        return all.stream().filter(ListeningLoop::isServing).findFirst().orElse(all.getFirst()).stack();
    }

    /**
     * Moves the port to other loops. The new loops join the rules before the old ones leave, so that each rule always
     * has a receiver. Connections opened during the move remain on their loops, where {@link CrossLoopLookup} finds
     * them. If a new loop cannot join because the device has no room, the old loops continue to serve the port together
     * with the new ones.
     *
     * @param stacks stacks of the new loops, on the same device
     */
    public void moveTo(List<TcpStack> stacks) {
        List<ListeningLoop> before;
        List<ListeningLoop> next = new ArrayList<>();
        Map<ListeningLoop, CompletableFuture<Void>> joiningLoops = new LinkedHashMap<>();
        int moveNumber;
        synchronized (this) {
            if (rulesRemoved) {
                return;
            }
            moveNumber = ++moveCount;
            before = servingLoops().toList();
            List<ListeningLoop> all = new ArrayList<>(loops);
            for (TcpStack stack : stacks) {
                ListeningLoop loop = all.stream().filter(each -> each.stack() == stack).findFirst().orElse(null);
                if (loop == null) {
                    loop = new ListeningLoop(this, stack);
                    all.add(loop);
                }
                next.add(loop);
                if (!before.contains(loop)) {
                    joiningLoops.put(loop, loop.announceJoin());
                }
            }
            loops = List.copyOf(all);
        }
        joiningLoops.forEach(ListeningLoop::startJoining);
        // Also wait for loops that a concurrent call has started to join. The last old loop must not leave earlier.
        CompletableFuture.allOf(next.stream().map(ListeningLoop::joinFuture).toArray(CompletableFuture[]::new))
                .whenComplete((done, failure) -> {
                    if (failure != null) {
                        LOGGER.warn("port {}: not all loops of the child group can receive its segments; the previous"
                                + " loops continue to receive and forward them", binding().port(), failure);
                    } else if (isLatest(moveNumber)) {
                        before.stream().filter(loop -> !next.contains(loop))
                                .forEach(loop -> loop.stack().runOnLoop(loop::leave));
                    }
                });
    }

    /** Moves the port to the server channel's new loops, unless it was moved to the loops of another group. */
    public void onServerMoved(List<TcpStack> newStacks) {
        boolean servedByOtherGroup;
        synchronized (this) {
            List<TcpStack> serving = servingLoops().map(ListeningLoop::stack).toList();
            servedByOtherGroup = !serving.isEmpty() && serving.stream().noneMatch(serverStacks::contains);
            serverStacks = Set.copyOf(newStacks);
        }
        if (!servedByOtherGroup) {
            moveTo(newStacks);
        }
    }

    private synchronized boolean isLatest(int moveNumber) {
        return moveNumber == moveCount && !rulesRemoved;
    }

    /** Returns whether another loop serves the port too. */
    synchronized boolean isServedWithout(ListeningLoop loop) {
        return servingLoops().anyMatch(other -> other != loop);
    }

    /**
     * Handles the end of a loop that the port was moved to. If no such loop is left, the server channel's own loops
     * serve the port again.
     */
    void returnToOwnLoops() {
        List<TcpStack> ownStacks;
        synchronized (this) {
            if (servingLoops().findAny().isPresent()) {
                return;
            }
            ownStacks = List.copyOf(serverStacks);
        }
        moveTo(ownStacks);
    }

    private synchronized void withdrawRules() {
        rulesRemoved = true;
        installedRules().forEach(rule -> flows.withdraw(rule, this));
        rules = List.of();
        recordRejected(List.of(), null);
    }

    /** Returns whether the kernel receives copies of the segments that the device delivers. */
    public boolean isVisibleToKernel() {
        return first().deviceQueue().device().counters().kernelVisibleRules() > 0;
    }

    /**
     * Returns the port that owns one of the rules; null if there is none. A port remains reserved after its server has
     * closed as long as connections use it.
     */
    public static ListeningPort find(TcpStack stack, List<FlowSpec> rules) {
        for (FlowSpec rule : rules) {
            if (stack.deviceQueue().device().rssFlows().ownerOf(rule) instanceof ListeningPort port) {
                return port;
            }
        }
        return null;
    }

    /**
     * Allows servers that share the port to use the rules of a server that has closed. The connections of the closed
     * server continue.
     *
     * @return false if the port has a server again, sends copies to another process, or has no rules any more
     */
    public boolean releaseRulesToReusePortServers() {
        synchronized (this) {
            if (acceptor != null || sharedWithOtherProcess || rulesRemoved) {
                return false;
            }
            reusePort = true;
            rules.forEach(rule -> flows.removeOwner(rule, this));
        }
        loops.forEach(loop -> loop.stack().executeBeforeFrames(loop::forwardToReusePortServers));
        return true;
    }

    /** Starts another server on the port. Returns false if the port still has a server or is served by other loops. */
    public boolean reopen(List<TcpStack> stacks, ConnectionAcceptor next) {
        Set<TcpStack> wanted = Set.copyOf(stacks);
        synchronized (this) {
            Set<TcpStack> serving = servingLoops().map(ListeningLoop::stack).collect(Collectors.toSet());
            // If the port was moved to other loops, the server channel's own loop does not serve it. A server without
            // SO_REUSEPORT may then be on any loop.
            boolean same = wanted.equals(serverStacks) || wanted.equals(serving)
                    || !next.isReusePort() && !serving.isEmpty() && serving.stream().noneMatch(serverStacks::contains);
            if (acceptor != null || !same || !retain()) {
                return false;
            }
            serverStacks = wanted;
            acceptor = next;
        }
        try {
            binding().setListening(true);
            synchronized (this) {
                filterKernelSocket(rules);
            }
            startServing();
        } catch (RuntimeException e) {
            stopListening();
            throw e;
        }
        return true;
    }

    /** Returns the stacks of all loops that serve the port or served it before it was moved. */
    public List<TcpStack> stacks() {
        return loops.stream().map(ListeningLoop::stack).toList();
    }

    /**
     * Counts the connections of the port, including half-open ones but not those in TIME-WAIT. May be called on any
     * thread.
     */
    public CompletableFuture<Integer> connectionCount() {
        AtomicInteger halfOpenCount = new AtomicInteger();
        List<CompletableFuture<Void>> counted = new ArrayList<>();
        for (ListeningLoop loop : loops) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            counted.add(done);
            loop.stack().executeOrElse(() -> {
                halfOpenCount.addAndGet(loop.halfOpenCount());
                done.complete(null);
            }, () -> done.complete(null));
        }
        // A connection that opens during the count is counted twice, and none is missed.
        return CompletableFuture.allOf(counted.toArray(CompletableFuture[]::new))
                .thenApply(done -> halfOpenCount.get() + userCount() - (acceptor != null ? 1 : 0));
    }

    /**
     * Makes the loops serve the port.
     *
     * @throws VerbsException if the caller serves the port on its own loop, and that loop cannot join any of the rules
     */
    private void startServing() {
        ConnectionAcceptor current = acceptor;
        for (ListeningLoop loop : loops) {
            if (loop.stack().isOnLoop()) {
                // Run pending tasks first: another thread may have just stopped the previous server.
                loop.stack().runPriorityTasks();
                loop.serve(current);
            } else {
                loop.stack().executeBeforeFrames(() -> loop.serve(current));
            }
        }
    }

    @Override
    public void joinRule(DeviceQueue deviceQueue) {
        for (ListeningLoop loop : loops) {
            if (loop.stack().deviceQueue() == deviceQueue && !loop.hasLeft()) {
                // Run pending tasks first: they stop the listener of a previous server.
                loop.stack().runPriorityTasks();
                loop.join();
                loop.listen(acceptor);
            }
        }
    }

    /** Stops listening. Open connections continue. May be called on any thread. */
    public void stopListening() {
        synchronized (this) {
            // Within the lock, so that the tasks of a new server are enqueued after these.
            acceptor = null;
            loops.forEach(loop -> loop.stack().executeBeforeFrames(loop::stopListening));
        }
        binding().setListening(false);
        loops.forEach(loop -> loop.stack().runPriorityTasks());
        TcpStack first = loops.stream().map(ListeningLoop::stack).filter(TcpStack::isOnLoop).findFirst()
                .orElse(first());
        first.executeOrElse(() -> release(first.timeWaitPorts()), () -> release(null));
    }

    @Override
    protected void removeRules() {
        withdrawRules();
        for (ListeningLoop loop : loops) {
            loop.stack().runOnLoop(loop::end);
        }
    }
}
