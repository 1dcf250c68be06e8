package io.rdmaraw.queue;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.objects.Flow;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.VerbsContext;

import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.stream.Collectors;

/**
 * The flow rules of a device that several loops share (RSS). The device hashes addresses and ports (Toeplitz)
 * and looks up the work queue of a loop in an indirection table. So all frames of one flow go to the same loop, until
 * the loops of the rule change; see {@link #haveFlowsMoved()}.
 *
 * <p>If the loops of a rule change, the rule is replaced without a gap; see {@link RssFlow#nextRule()}. A rule
 * therefore occupies two priorities: the requested one and the next. If the device repeatedly refuses the rule for the
 * loops that remain, the kernel receives the frames. A single loop receives through its queue
 * pair, without RSS. On a device without RSS the first of several loops receives all frames, and the others
 * take over when it is detached. Thread-safe.
 */
public final class RssFlows {
    /** The first flow tag of shared rules. Tags of rules of a single loop are lower. */
    public static final int FIRST_TAG = 1 << 20;

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RssFlows.class);
    /**
     * Minimum table size if the number of loops is not a power of two, so that all loops get nearly equal
     * shares.
     */
    private static final int MIN_BALANCED_TABLE_ENTRIES = 128;

    /** Maximum number of removed rules to remember. Beyond that, all flows are assumed to have moved. */
    private static final int MAX_REMOVED_SPECS = 4096;
    /** A rule may be refused temporarily, for example if the kernel is short of memory. */
    private static final int MAX_STEER_ATTEMPTS = 3;

    private record QueuePairKey(long fields, List<FrameQueue> queues) {
    }

    private final VerbsContext context;
    private final ProtectionDomain protectionDomain;
    private final int maxTableEntries;
    private final byte[] key = new byte[RssOptions.KEY_LENGTH_BYTES];
    private final Map<FlowSpec, RssFlow> flows = new HashMap<>();
    private final Map<QueuePairKey, RssQueuePair> queuePairs = new HashMap<>();
    private final BitSet tagsInUse = new BitSet();
    /** Queues that are about to close. Rules must not lead to them. */
    private final Set<FrameQueue> retired = Collections.newSetFromMap(new WeakHashMap<>());
    /** Queues that are being replaced, which may take several attempts. They may be attached to rules again. */
    private final Set<FrameQueue> suspended = Collections.newSetFromMap(new WeakHashMap<>());
    /**
     * Removed rules. If such a rule is added again, its flows may lead to other loops than those that own the
     * connections.
     */
    private final Set<FlowSpec> removedSpecs = new HashSet<>();
    private volatile boolean flowsMoved;
    private volatile long flowsMovedNanos;

    RssFlows(VerbsContext context, ProtectionDomain protectionDomain) {
        this.context = context;
        this.protectionDomain = protectionDomain;
        ExtendedDeviceAttributes attributes = context.queryDeviceExtended();
        boolean rss = (attributes.rssQueuePairTypes() & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) != 0
                && (attributes.rssHashFunctions() & RssOptions.FUNCTION_TOEPLITZ) != 0;
        maxTableEntries = rss ? attributes.maxIndirectionTableEntries() : 0;
        // The key is secret. Otherwise peers could choose ports such that all flows go to one loop.
        new SecureRandom().nextBytes(key);
    }

    /** Returns whether the device supports RSS. */
    public boolean isSupported() {
        return maxTableEntries > 1;
    }

    /**
     * Returns whether flows may have moved to other loops: the queues of a rule have changed, or a removed rule
     * was added again. May be called on any thread.
     */
    public boolean haveFlowsMoved() {
        return flowsMoved;
    }

    /** Returns whether flows have moved within the last {@code nanos} nanoseconds. May be called on any thread. */
    public boolean haveFlowsMovedWithin(long nanos) {
        return flowsMoved && System.nanoTime() - flowsMovedNanos < nanos;
    }

    /** Returns a copy of the Toeplitz key. */
    public byte[] toeplitzKey() {
        return key.clone();
    }

    /**
     * Installs a rule for several queues at once. Each loop {@linkplain #attach attaches} its queue when it first uses
     * the rule, which moves none of its flows. Exception: a queue that is being replaced is added when it is attached
     * again, which moves flows.
     *
     * @param queues the queues; their {@link FrameQueue#workQueue()} must have been created
     * @param owner  identifies the owner of the rule; see {@link #find}
     */
    public synchronized void open(FlowSpec spec, List<FrameQueue> queues, Object owner) {
        requireIpVersion(spec);
        if (flows.containsKey(spec)) {
            throw new IllegalStateException("the rule \"" + spec + "\" already exists");
        }
        List<FrameQueue> liveQueues = queues.stream().filter(queue -> !retired.contains(queue)).toList();
        if (!liveQueues.isEmpty()) {
            add(spec, liveQueues.stream().filter(queue -> !suspended.contains(queue)).toList(), owner);
        }
    }

    /** Removes a queue that is about to close from all rules, including those that it is not attached to yet. */
    synchronized void retire(FrameQueue queue) {
        retired.add(queue);
        suspended.remove(queue);
        detachAll(queue);
    }

    /** Removes a queue that is about to be replaced from all rules, including those that it is not attached to yet. */
    synchronized void suspendQueue(FrameQueue queue) {
        suspended.add(queue);
        detachAll(queue);
    }

    /** Permits a queue to be attached to rules again after it was replaced. */
    synchronized void resumeQueue(FrameQueue queue) {
        suspended.remove(queue);
    }

    private void detachAll(FrameQueue queue) {
        List.copyOf(flows.values()).forEach(flow -> detach(flow, queue));
    }

    /** Returns the rule with a flow tag, or null. */
    public synchronized RssFlow find(int tag) {
        for (RssFlow flow : flows.values()) {
            if (flow.tag() == tag) {
                return flow;
            }
        }
        return null;
    }

    /**
     * Returns the queue that the device selects for a flow, or null if the rule does not exist or has no queue.
     *
     * @param hash the Toeplitz hash of the flow with {@link #toeplitzKey()}; see {@link io.rdmaraw.wire.Toeplitz}
     */
    public synchronized FrameQueue selectedQueue(FlowSpec spec, int hash) {
        RssFlow flow = flows.get(spec);
        if (flow == null || flow.queues().isEmpty()) {
            return null;
        }
        List<FrameQueue> queues = flow.queues();
        int entry = flow.queuePair() == null ? 0 : hash & tableEntries(queues.size()) - 1;
        return queues.get(entry % queues.size());
    }

    /** Returns the owners that {@linkplain #open opened} the installed rules. */
    public synchronized Set<Object> owners() {
        return flows.values().stream().map(RssFlow::ownerOrNull).filter(Objects::nonNull)
                .collect(Collectors.toSet());
    }

    /** Returns the owner that {@linkplain #open opened} an installed rule, or null. */
    public synchronized Object ownerOf(FlowSpec spec) {
        RssFlow flow = flows.get(spec);
        return flow == null ? null : flow.ownerOrNull();
    }

    /** Returns whether a rule is installed and has no owner. */
    public synchronized boolean isWithoutOwner(FlowSpec spec) {
        RssFlow flow = flows.get(spec);
        return flow != null && flow.ownerOrNull() == null;
    }

    /** Removes the owner from a rule. The rule remains installed until all of its queues have left it. */
    public synchronized void removeOwner(FlowSpec spec, Object owner) {
        RssFlow flow = flows.get(spec);
        if (flow != null && flow.ownerOrNull() == owner) {
            flow.removeOwner();
        }
    }

    /** Removes a rule of an owner from the device at once. The attached queues must still be detached. */
    public synchronized void withdraw(FlowSpec spec, Object owner) {
        RssFlow flow = flows.get(spec);
        if (flow != null && flow.ownerOrNull() == owner) {
            flows.remove(spec);
            flow.markWithdrawn();
            // Drop queues that were never attached: they are not detached either, and the tag would never be freed.
            install(flow, flow.attachedQueues(), null, null);
            if (flow.queues().isEmpty()) {
                tagsInUse.clear(flow.tag() - FIRST_TAG);
            }
        }
    }

    private static void requireIpVersion(FlowSpec spec) {
        if (RssOptions.fieldsOf(spec) == 0) {
            throw new IllegalArgumentException("frames are distributed by their IP addresses, so the rule \"" + spec
                    + "\" must match one version of IP");
        }
    }

    private RssFlow add(FlowSpec spec, List<FrameQueue> queues, Object ownerOrNull) {
        RssFlow flow = new RssFlow(spec, FIRST_TAG + tagsInUse.nextClearBit(0), ownerOrNull);
        if (!queues.isEmpty()) {
            steer(flow, queues);
        }
        flows.put(spec, flow);
        tagsInUse.set(flow.tag() - FIRST_TAG);
        return flow;
    }

    /**
     * Adds a queue to a rule. A queue that is being replaced must be attached again when it is back.
     *
     * @param ownerOrNull the owner of the rule if this queue is the first; see {@link #open}
     */
    public synchronized RssFlow attach(FlowSpec spec, FrameQueue queue, Object ownerOrNull) {
        requireIpVersion(spec);
        RssFlow flow = flows.get(spec);
        if (flow != null && flow.queues().contains(queue)) {
            flow.recordAttached(queue);
            return flow;
        }
        if (suspended.contains(queue)) {
            return flow != null ? flow : add(spec, List.of(), ownerOrNull);
        }
        if (isSupported()) {
            queue.workQueue();
        }
        List<FrameQueue> queues = new ArrayList<>(flow == null ? List.of() : flow.queues());
        queues.add(queue);
        if (flow == null) {
            flow = add(spec, queues, ownerOrNull);
        } else {
            steer(flow, queues);
        }
        flow.recordAttached(queue);
        return flow;
    }

    /** Adds a replaced queue to a rule that it belonged to. Returns null if the rule has been withdrawn since. */
    public synchronized RssFlow reattach(RssFlow previous, FrameQueue queue) {
        return previous.isWithdrawn() ? null : attach(previous.spec(), queue, previous.ownerOrNull());
    }

    /** Removes a queue from a rule. The last queue removes the rule. Must be called before the queue is closed. */
    public synchronized void detach(RssFlow flow, FrameQueue queue) {
        List<FrameQueue> queues = new ArrayList<>(flow.queues());
        if (!queues.remove(queue)) {
            if (queues.isEmpty() && flow.ownerOrNull() == null && flows.get(flow.spec()) == flow) {
                // The rule has no queues because only a queue that was being replaced was attached to it.
                remove(flow);
            }
            return;
        }
        if (flow.isWithdrawn()) {
            flow.setQueues(queues);
            if (queues.isEmpty()) {
                tagsInUse.clear(flow.tag() - FIRST_TAG);
            }
            return;
        }
        if (queues.isEmpty()) {
            install(flow, queues, null, null);
            if (flow.ownerOrNull() == null || !suspended.contains(queue)) {
                remove(flow);
            }
            return;
        }
        for (int attempt = 1; ; attempt++) {
            try {
                steer(flow, queues);
                return;
            } catch (RuntimeException e) {
                if (attempt == MAX_STEER_ATTEMPTS) {
                    // From now on the frames go to the kernel, which has a socket on the port.
                    install(flow, queues, null, null);
                    LOGGER.warn("the device rejected the rule \"{}\" for the remaining loops; the kernel receives its"
                            + " frames", flow.spec(), e);
                    return;
                }
                LOGGER.debug("the device rejected the rule \"{}\" for the remaining loops; retrying", flow.spec(), e);
            }
        }
    }

    /**
     * Removes a queue from a rule that other queues also belong to. Unlike {@link #detach}, this method changes
     * nothing if the device cannot install the replacement rule.
     *
     * @return whether the queue has been removed
     */
    public synchronized boolean tryDetach(RssFlow flow, FrameQueue queue) {
        List<FrameQueue> queues = new ArrayList<>(flow.queues());
        if (flow.isWithdrawn() || !queues.remove(queue)) {
            return true;
        }
        if (queues.isEmpty()) {
            return false;
        }
        try {
            steer(flow, queues);
            return true;
        } catch (RuntimeException e) {
            LOGGER.warn("a loop cannot leave the rule \"{}\"; it forwards the frames: {}", flow.spec(),
                    e.getMessage());
            return false;
        }
    }

    private void remove(RssFlow flow) {
        flows.remove(flow.spec());
        tagsInUse.clear(flow.tag() - FIRST_TAG);
    }

    private void steer(RssFlow flow, List<FrameQueue> queues) {
        boolean isRss = isSupported() && queues.size() > 1;
        if (!isRss && flow.isInstalled() && flow.queuePair() == null && !flow.queues().isEmpty()
                && flow.queues().getFirst() == queues.getFirst()) {
            flow.setQueues(queues);
            return;
        }
        // Record the move before the new rule delivers its first frame. Another loop may process that frame at
        // once.
        if (!flow.queues().isEmpty() || removedSpecs.contains(flow.spec())) {
            recordFlowMove();
        }
        RssQueuePair queuePair = isRss ? queuePair(RssOptions.fieldsOf(flow.spec()), queues) : null;
        Flow newFlow;
        try {
            FlowSpec rule = flow.nextRule();
            newFlow = isRss ? queuePair.steer(rule) : queues.getFirst().steer(rule);
        } catch (RuntimeException e) {
            release(queuePair);
            throw e;
        }
        install(flow, queues, newFlow, queuePair);
        removedSpecs.remove(flow.spec());
    }

    private void install(RssFlow flow, List<FrameQueue> queues, Flow newFlow, RssQueuePair queuePair) {
        if (newFlow == null && !flow.queues().isEmpty()) {
            if (removedSpecs.size() == MAX_REMOVED_SPECS) {
                recordFlowMove();
            } else {
                removedSpecs.add(flow.spec());
            }
        }
        flow.setQueues(queues);
        release(flow.replace(newFlow, queuePair));
    }

    private void recordFlowMove() {
        flowsMovedNanos = System.nanoTime();
        flowsMoved = true;
    }

    private RssQueuePair queuePair(long fields, List<FrameQueue> queues) {
        QueuePairKey queuePairKey = new QueuePairKey(fields, List.copyOf(queues));
        RssQueuePair queuePair = queuePairs.get(queuePairKey);
        if (queuePair == null) {
            queuePair = RssQueuePair.open(context, protectionDomain, queues, tableEntries(queues.size()), fields,
                    key);
            queuePairs.put(queuePairKey, queuePair);
        }
        return queuePair.retain();
    }

    private int tableEntries(int queueCount) {
        int wanted = Integer.bitCount(queueCount) == 1 ? queueCount
                : Math.max(MIN_BALANCED_TABLE_ENTRIES, Integer.highestOneBit(queueCount) * 8);
        return Math.min(wanted, Integer.highestOneBit(maxTableEntries));
    }

    private void release(RssQueuePair queuePairOrNull) {
        if (queuePairOrNull != null && queuePairOrNull.release()) {
            queuePairs.values().remove(queuePairOrNull);
        }
    }
}
