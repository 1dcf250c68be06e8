package io.rdmaraw.queue;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.verbs.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.RssOptions;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.flow.FlowSpec;

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
 * The rules of a device that several loops share: each frame goes to one of them, the same for all frames between two
 * ends. The device hashes addresses and ports (Toeplitz) and looks the loop's work queue up in an indirection table.
 *
 * <p>A rule whose loops change is replaced without a gap: see {@link RssFlow#nextRule()}. So it takes two
 * priorities, the one it names and the next. A single loop receives by its queue pair itself, and so does, on a device
 * without RSS, the first of several: the others are there to follow it. Thread-safe.
 */
public final class RssFlows {
    /** The first tag of such rules; those that belong to one loop have lower ones. */
    public static final int FIRST_TAG = 1 << 20;

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(RssFlows.class);
    /** Enough entries that any number of loops gets nearly equal shares. */
    private static final int EVEN_TABLE_ENTRIES = 128;

    /** Rules that have gone and are remembered; of more it is enough to know that flows may have moved. */
    private static final int MOST_GONE = 4096;
    /** The kernel may be out of memory for a moment. */
    private static final int MAX_STEER_ATTEMPTS = 3;

    private record PathKey(long fields, List<FrameQueue> members) {
    }

    private final VerbsContext context;
    private final ProtectionDomain protectionDomain;
    private final int maxTableEntries;
    private final byte[] key = new byte[RssOptions.KEY_LENGTH_BYTES];
    private final Map<FlowSpec, RssFlow> flows = new HashMap<>();
    private final Map<PathKey, RssQueuePair> paths = new HashMap<>();
    private final BitSet tagsInUse = new BitSet();
    /** Queues that are about to close: no rule may lead to them any more. */
    private final Set<FrameQueue> retired = Collections.newSetFromMap(new WeakHashMap<>());
    /** Queues that are being replaced, which may take several attempts: rules may lead to them when they are back. */
    private final Set<FrameQueue> away = Collections.newSetFromMap(new WeakHashMap<>());
    /** Rules that have gone: where one comes back it may lead to other loops than those of its connections. */
    private final Set<FlowSpec> gone = new HashSet<>();
    private volatile boolean moved;
    private volatile long movedNanos;

    RssFlows(VerbsContext context, ProtectionDomain protectionDomain) {
        this.context = context;
        this.protectionDomain = protectionDomain;
        ExtendedDeviceAttributes attributes = context.queryDeviceExtended();
        boolean rss = (attributes.rssQueuePairTypes() & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) != 0
                && (attributes.rssHashFunctions() & RssOptions.FUNCTION_TOEPLITZ) != 0;
        maxTableEntries = rss ? attributes.maxIndirectionTableEntries() : 0;
        // A secret key: peers cannot choose ports that all lead to one loop.
        new SecureRandom().nextBytes(key);
    }

    /** Tells whether the device can spread frames at all. */
    public boolean isSupported() {
        return maxTableEntries > 1;
    }

    /**
     * Tells whether the queues of a rule have ever changed, or one that had gone has come back, so that flows lead
     * elsewhere than before. Any thread.
     */
    public boolean haveMoved() {
        return moved;
    }

    /** Tells whether that was so within the last nanoseconds. Any thread. */
    public boolean haveMovedWithin(long nanos) {
        return moved && System.nanoTime() - movedNanos < nanos;
    }

    /** Returns the key of the hash. */
    public byte[] key() {
        return key.clone();
    }

    /**
     * Spreads a rule's frames over several queues from the beginning, so that none of its flows moves later. Each of
     * them {@linkplain #join joins} when it first has to do with the rule; one that is being replaced does so when it
     * is back.
     *
     * @param members whose {@link FrameQueue#workQueue()} has been made
     * @param owner for the queues to find out whose rule it is, see {@link #find}
     */
    public synchronized void open(FlowSpec spec, List<FrameQueue> members, Object owner) {
        requireIpVersion(spec);
        if (flows.containsKey(spec)) {
            throw new IllegalStateException("the rule \"" + spec + "\" is there already");
        }
        List<FrameQueue> living = members.stream().filter(member -> !retired.contains(member)).toList();
        if (!living.isEmpty()) {
            add(spec, living.stream().filter(member -> !away.contains(member)).toList(), owner);
        }
    }

    /** A queue is about to close: takes it out of all rules, of those too that it has not joined yet. */
    synchronized void retire(FrameQueue member) {
        retired.add(member);
        away.remove(member);
        leaveAll(member);
    }

    /** A queue is about to be replaced: takes it out of all rules, of those too that it has not joined yet. */
    synchronized void goAway(FrameQueue member) {
        away.add(member);
        leaveAll(member);
    }

    /** A queue has been replaced, and may join rules again. */
    synchronized void comeBack(FrameQueue member) {
        away.remove(member);
    }

    private void leaveAll(FrameQueue member) {
        List.copyOf(flows.values()).forEach(flow -> leave(flow, member));
    }

    /** Returns the rule that has a tag, or null. */
    public synchronized RssFlow find(int tag) {
        for (RssFlow flow : flows.values()) {
            if (flow.tag() == tag) {
                return flow;
            }
        }
        return null;
    }

    /**
     * Returns the queue that the device chooses for a flow by a rule; null when the rule is not there.
     *
     * @param hash the Toeplitz hash of the flow by {@link #key()}, as {@link io.rdmaraw.wire.Toeplitz} has it
     */
    public synchronized FrameQueue chosen(FlowSpec spec, int hash) {
        RssFlow flow = flows.get(spec);
        if (flow == null || flow.members().isEmpty()) {
            return null;
        }
        List<FrameQueue> members = flow.members();
        int entry = flow.path() == null ? 0 : hash & tableEntries(members.size()) - 1;
        return members.get(entry % members.size());
    }

    /** Returns who {@linkplain #open opened} rules that are in force. */
    public synchronized Set<Object> owners() {
        return flows.values().stream().map(RssFlow::ownerOrNull).filter(Objects::nonNull)
                .collect(Collectors.toSet());
    }

    /** Returns who {@linkplain #open opened} a rule that is in force, or null. */
    public synchronized Object ownerOf(FlowSpec spec) {
        RssFlow flow = flows.get(spec);
        return flow == null ? null : flow.ownerOrNull();
    }

    /** Takes a rule of an owner out of force at once for all of its queues; those that have joined have to leave. */
    public synchronized void withdraw(FlowSpec spec, Object owner) {
        RssFlow flow = flows.get(spec);
        if (flow != null && flow.ownerOrNull() == owner) {
            flows.remove(spec);
            flow.markWithdrawn();
            // Those that never joined do not leave either, and would keep the tag for ever.
            take(flow, flow.joined(), null, null);
            if (flow.members().isEmpty()) {
                tagsInUse.clear(flow.tag() - FIRST_TAG);
            }
        }
    }

    private static void requireIpVersion(FlowSpec spec) {
        if (RssOptions.fieldsOf(spec) == 0) {
            throw new IllegalArgumentException("frames are spread by their IP addresses, so the rule \"" + spec
                    + "\" has to say which version of IP it is for");
        }
    }

    private RssFlow add(FlowSpec spec, List<FrameQueue> members, Object ownerOrNull) {
        RssFlow flow = new RssFlow(spec, FIRST_TAG + tagsInUse.nextClearBit(0), ownerOrNull);
        if (!members.isEmpty()) {
            steer(flow, members);
        }
        flows.put(spec, flow);
        tagsInUse.set(flow.tag() - FIRST_TAG);
        return flow;
    }

    /**
     * Adds a queue to a rule. One that is being replaced has to join once more when it is back.
     *
     * @param ownerOrNull whose rule it is if the queue is the first, as {@link #open} has it
     */
    public synchronized RssFlow join(FlowSpec spec, FrameQueue member, Object ownerOrNull) {
        requireIpVersion(spec);
        RssFlow flow = flows.get(spec);
        if (flow != null && flow.members().contains(member)) {
            flow.noteJoined(member);
            return flow;
        }
        if (away.contains(member)) {
            return flow != null ? flow : add(spec, List.of(), ownerOrNull);
        }
        if (isSupported()) {
            member.workQueue();
        }
        List<FrameQueue> members = new ArrayList<>(flow == null ? List.of() : flow.members());
        members.add(member);
        if (flow == null) {
            flow = add(spec, members, ownerOrNull);
        } else {
            steer(flow, members);
        }
        flow.noteJoined(member);
        return flow;
    }

    /** Adds a queue that has been replaced to a rule of before; null when that has been withdrawn meanwhile. */
    public synchronized RssFlow joinAgain(RssFlow before, FrameQueue member) {
        return before.isWithdrawn() ? null : join(before.spec(), member, before.ownerOrNull());
    }

    /** Takes a queue out of a rule; the last one takes the rule away. To be called before the queue is closed. */
    public synchronized void leave(RssFlow flow, FrameQueue member) {
        List<FrameQueue> members = new ArrayList<>(flow.members());
        if (!members.remove(member)) {
            if (members.isEmpty() && flow.ownerOrNull() == null && flows.get(flow.spec()) == flow) {
                // It was joined by a queue that was away.
                forget(flow);
            }
            return;
        }
        if (flow.isWithdrawn()) {
            flow.setMembers(members);
            if (members.isEmpty()) {
                tagsInUse.clear(flow.tag() - FIRST_TAG);
            }
            return;
        }
        if (members.isEmpty()) {
            take(flow, members, null, null);
            if (flow.ownerOrNull() == null || !away.contains(member)) {
                forget(flow);
            }
            return;
        }
        for (int attempt = 1; ; attempt++) {
            try {
                steer(flow, members);
                return;
            } catch (RuntimeException e) {
                if (attempt == MAX_STEER_ATTEMPTS) {
                    // The frames go to the kernel from now on, which has a socket on the port.
                    take(flow, members, null, null);
                    LOGGER.warn("the loops that remain do not receive \"{}\" any more", flow.spec(), e);
                    return;
                }
                LOGGER.debug("the rule \"{}\" is refused for the loops that remain, and tried again", flow.spec(), e);
            }
        }
    }

    /**
     * Takes a queue out of a rule that others receive by too. Unlike one that {@linkplain #leave leaves} since it has
     * to, it goes on where the device has no room for the rule that takes the place of this one.
     *
     * @return whether it is out
     */
    public synchronized boolean leaveToOthers(RssFlow flow, FrameQueue member) {
        List<FrameQueue> members = new ArrayList<>(flow.members());
        if (flow.isWithdrawn() || !members.remove(member)) {
            return true;
        }
        if (members.isEmpty()) {
            return false;
        }
        try {
            steer(flow, members);
            return true;
        } catch (RuntimeException e) {
            LOGGER.warn("\"{}\" still comes to a loop that has left it to others, which passes it on: {}", flow.spec(),
                    e.getMessage());
            return false;
        }
    }

    private void forget(RssFlow flow) {
        flows.remove(flow.spec());
        tagsInUse.clear(flow.tag() - FIRST_TAG);
    }

    private void steer(RssFlow flow, List<FrameQueue> members) {
        boolean isRss = isSupported() && members.size() > 1;
        if (!isRss && flow.isInForce() && flow.path() == null && !flow.members().isEmpty()
                && flow.members().getFirst() == members.getFirst()) {
            flow.setMembers(members);
            return;
        }
        // Before the device brings the first frame by the new rule, which may be looked at before this thread goes on.
        if (!flow.members().isEmpty() || gone.contains(flow.spec())) {
            noteMoved();
        }
        RssQueuePair path = isRss ? path(RssOptions.fieldsOf(flow.spec()), members) : null;
        Flow made;
        try {
            FlowSpec rule = flow.nextRule();
            made = isRss ? path.steer(rule) : members.getFirst().steer(rule);
        } catch (RuntimeException e) {
            release(path);
            throw e;
        }
        take(flow, members, made, path);
        gone.remove(flow.spec());
    }

    private void take(RssFlow flow, List<FrameQueue> members, Flow made, RssQueuePair path) {
        if (made == null && !flow.members().isEmpty()) {
            if (gone.size() == MOST_GONE) {
                noteMoved();
            } else {
                gone.add(flow.spec());
            }
        }
        flow.setMembers(members);
        release(flow.replace(made, path));
    }

    private void noteMoved() {
        movedNanos = System.nanoTime();
        moved = true;
    }

    private RssQueuePair path(long fields, List<FrameQueue> members) {
        PathKey pathKey = new PathKey(fields, List.copyOf(members));
        RssQueuePair path = paths.get(pathKey);
        if (path == null) {
            path = RssQueuePair.open(context, protectionDomain, members, tableEntries(members.size()), fields, key);
            paths.put(pathKey, path);
        }
        return path.use();
    }

    private int tableEntries(int members) {
        int wanted = Integer.bitCount(members) == 1 ? members
                : Math.max(EVEN_TABLE_ENTRIES, Integer.highestOneBit(members) * 8);
        return Math.min(wanted, Integer.highestOneBit(maxTableEntries));
    }

    private void release(RssQueuePair pathOrNull) {
        if (pathOrNull != null && pathOrNull.release()) {
            paths.values().remove(pathOrNull);
        }
    }
}
