package io.rdmaraw.device;

import io.netty.util.collection.IntObjectHashMap;
import io.netty.util.collection.IntObjectMap;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.RssFlow;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.DeviceName;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowType;
import io.rdmaraw.verbs.objects.Flow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Maps flow tags to channels with one array access per frame, or with one access to a hash map for the tags of rules
 * that several loops may share.
 *
 * <p>Tags below {@link RssFlows#FIRST_TAG} are assigned per loop. Rules shared by several loops have higher
 * tags, which are the same on all loops.
 *
 * <p>Rules that several loops and processes may install independently ({@link FlowSpec#isShareable()}) have
 * tags computed from the rule. The reason is mlx5's kernel driver: it accepts a second rule with the same match
 * only if it also has the same tag ({@code check_conflicting_ftes} in fs_core.c). Special rules
 * ({@link FlowType}) have no tag, because that driver ignores it.
 */
final class FlowTagTable {
    /** A rule and its channels. */
    static final class Entry {
        private final FlowSpec spec;
        private int tag;
        /** Exactly one of {@link #flow} and {@link #rss} is set. */
        private Flow flow;
        private RssFlow rss;
        /** Copied on write: a handler may detach a channel while a burst is being dispatched. */
        FrameReceiver[] receivers = {};
        /** Whether there are channels and all of them only queue frames; see {@link FrameReceiver#queuesOnly}. */
        boolean queuesOnly;
        /** Whether the device also delivers VLAN-tagged frames, which do not belong to the rule. */
        final boolean dropsVlanTagged;

        private Entry(FlowSpec spec, int tag, boolean deviceDeliversVlanTagged) {
            this.spec = spec;
            this.tag = tag;
            dropsVlanTagged = deviceDeliversVlanTagged && spec.isUntaggedIp();
        }

        /**
         * Returns whether each frame goes to one of the channels. With other rules, every channel receives every
         * frame.
         */
        boolean isRss() {
            return rss != null;
        }

        private boolean add(FrameReceiver receiver) {
            if (Arrays.asList(receivers).contains(receiver)) {
                return false;
            }
            FrameReceiver[] grown = Arrays.copyOf(receivers, receivers.length + 1);
            grown[grown.length - 1] = receiver;
            replace(grown);
            return true;
        }

        private void remove(FrameReceiver receiver) {
            List<FrameReceiver> rest = new ArrayList<>(Arrays.asList(receivers));
            rest.remove(receiver);
            replace(rest.toArray(FrameReceiver[]::new));
        }

        private void replace(FrameReceiver[] changed) {
            receivers = changed;
            queuesOnly = changed.length > 0 && Arrays.stream(changed).allMatch(FrameReceiver::queuesOnly);
        }
    }

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(FlowTagTable.class);
    private static final int MAX_TAG = 0xffffff;
    private static final int MAX_STEER_ATTEMPTS = 3;
    private static final int FIRST_SHAREABLE_TAG = 1 << 23;
    /** 2^32 divided by the golden ratio, rounded to an odd number (multiplicative hashing). */
    private static final int HASH_FACTOR = 0x9e3779b9;

    private final Map<FlowSpec, Entry> bySpec = new HashMap<>();
    private final Map<FlowSpec, Entry> rssBySpec = new HashMap<>();
    private final FrameQueue queue;
    private final SharedDevice device;
    /** Index 0 is for the special rule, since devices report tag 0 for frames of rules without a tag. */
    private Entry[] byTag = new Entry[8];
    private final IntObjectMap<Entry> byShareableTag = new IntObjectHashMap<>();
    private final boolean deviceDeliversVlanTagged;
    private Entry[] byRssTag = new Entry[0];
    /**
     * Tags of removed rules. They are not reused until no frame of the old rule can be left in the queue, unless no
     * other tag is free.
     */
    private final BitSet quarantinedTags = new BitSet();
    /** All lower tags are in use or quarantined. */
    private int minFreeTag = 1;
    /** The rules of each channel, so that detaching one of many channels does not search all rules. */
    private final Map<FrameReceiver, List<Entry>> byReceiver = new IdentityHashMap<>();

    FlowTagTable(FrameQueue queue, SharedDevice device) {
        this.queue = queue;
        this.device = device;
        deviceDeliversVlanTagged = !new DeviceName(device.name()).isSoftware();
    }

    /** Returns the rule with a tag, or null if no channel of this loop has it. */
    Entry entry(int tag) {
        if (tag < RssFlows.FIRST_TAG) {
            return tag < byTag.length ? byTag[tag] : null;
        }
        if (tag >= FIRST_SHAREABLE_TAG) {
            return byShareableTag.get(tag);
        }
        int index = tag - RssFlows.FIRST_TAG;
        return index < byRssTag.length ? byRssTag[index] : null;
    }

    /** Installs a rule for a channel of this loop. */
    void attach(FrameReceiver receiver, FlowSpec requested) {
        FlowSpec spec = requested.forQueueOn(queue.portNumber());
        Entry entry = bySpec.get(spec);
        if (entry == null) {
            spec.checkHostTraffic();
            entry = spec.isShareable() || spec.type() != FlowType.NORMAL ? attachByRule(spec) : attachByFreeTag(spec);
            bySpec.put(spec, entry);
        }
        add(receiver, entry);
    }

    private Entry attachByFreeTag(FlowSpec spec) {
        int tag = freeTag();
        Entry entry = new Entry(spec, tag, deviceDeliversVlanTagged);
        steer(entry);
        byTag[tag] = entry;
        minFreeTag = tag + 1;
        return entry;
    }

    private Entry attachByRule(FlowSpec spec) {
        boolean isSpecial = spec.type() != FlowType.NORMAL;
        if (isSpecial && byTag[0] != null) {
            throw new IllegalArgumentException("the loop has the rule \"" + byTag[0].spec + "\", and devices cannot"
                    + " distinguish its frames from those of \"" + spec + "\": bind that channel on another loop");
        }
        int tag = isSpecial ? 0 : shareableTag(spec);
        Entry entry = new Entry(spec, tag, deviceDeliversVlanTagged);
        steer(entry);
        if (isSpecial) {
            byTag[0] = entry;
        } else {
            byShareableTag.put(tag, entry);
        }
        return entry;
    }

    /** Computes a tag from the rule. In the rare case of a collision, the later rule gets the next free tag. */
    private int shareableTag(FlowSpec spec) {
        int hash = spec.toBuilder().allowHostTraffic().build().toString().hashCode() * HASH_FACTOR;
        int tag = FIRST_SHAREABLE_TAG | hash >>> Byte.SIZE + 1;
        while (byShareableTag.containsKey(tag)) {
            tag = tag == MAX_TAG ? FIRST_SHAREABLE_TAG : tag + 1;
        }
        return tag;
    }

    private void add(FrameReceiver receiver, Entry entry) {
        if (entry.add(receiver)) {
            byReceiver.computeIfAbsent(receiver, made -> new ArrayList<>(1)).add(entry);
        }
    }

    /** Joins a rule that several loops share; see {@link RssFlows#join}. */
    void attachRss(FrameReceiver receiver, FlowSpec spec, Object ownerOrNull) {
        Entry entry = rssBySpec.get(spec);
        if (entry == null || entry.rss.isWithdrawn()) {
            spec.checkHostTraffic();
            entry = new Entry(spec, 0, deviceDeliversVlanTagged);
            setRss(entry, device.rssFlows().attach(spec, queue, ownerOrNull));
            rssBySpec.put(spec, entry);
        }
        add(receiver, entry);
    }

    private void steer(Entry entry) {
        boolean isSpecial = entry.spec.type() != FlowType.NORMAL;
        entry.flow = queue.steer(isSpecial ? entry.spec : entry.spec.toBuilder().tag(entry.tag).build());
        String problem = entry.flow.addressProblem();
        if (problem != null) {
            LOGGER.debug("{}: rule {}: {}", device.name(), entry.spec, problem);
            if (device.reportedReasons().putIfAbsent(problem, System.nanoTime()) == null) {
                LOGGER.warn("{}: {}", device.name(), problem);
            }
        }
    }

    private void setRss(Entry entry, RssFlow joined) {
        entry.rss = joined;
        entry.tag = joined.tag();
        int index = entry.tag - RssFlows.FIRST_TAG;
        if (index >= byRssTag.length) {
            byRssTag = Arrays.copyOf(byRssTag, Math.max(8, 2 * index));
        }
        byRssTag[index] = entry;
    }

    private int freeTag() {
        int tag = minFreeTag;
        while (tag < byTag.length && (byTag[tag] != null || quarantinedTags.get(tag))) {
            tag++;
        }
        if (tag == RssFlows.FIRST_TAG) {
            // All tags are used or quarantined, because the queue was never found empty since. Reuse the
            // quarantined ones.
            onQueueEmpty();
            return freeTag();
        }
        if (tag == byTag.length) {
            byTag = Arrays.copyOf(byTag, 2 * tag);
        }
        return tag;
    }

    /** Called when the queue was empty: no frames of removed rules are left, so quarantined tags become free. */
    void onQueueEmpty() {
        if (!quarantinedTags.isEmpty()) {
            minFreeTag = Math.min(minFreeTag, quarantinedTags.nextSetBit(0));
            quarantinedTags.clear();
        }
    }

    void detach(FrameReceiver receiver) {
        List<Entry> detached = byReceiver.remove(receiver);
        if (detached == null) {
            return;
        }
        for (Entry entry : detached) {
            if (entry.receivers.length == 1) {
                remove(entry);
            } else {
                entry.remove(receiver);
            }
        }
    }

    /**
     * Withdraws a channel from shared rules for which it is the only channel of this loop. It still receives
     * the frames that the device has already delivered.
     *
     * @return whether it was withdrawn from all its rules; false if the device cannot install the replacement
     *         rules
     */
    boolean withdrawFromRss(FrameReceiver receiver) {
        boolean withdrawn = true;
        for (Entry entry : byReceiver.getOrDefault(receiver, List.of())) {
            withdrawn &= entry.isRss() && entry.receivers.length == 1
                    && device.rssFlows().tryDetach(entry.rss, queue);
        }
        return withdrawn;
    }

    /** Returns the number of rules. */
    int ruleCount() {
        return bySpec.size() + rssBySpec.size();
    }

    private Set<Entry> entries() {
        Set<Entry> entries = new LinkedHashSet<>(bySpec.values());
        // Entries that could not be rejoined yet are only in this map.
        entries.addAll(rssBySpec.values());
        // A withdrawn rule may already have been replaced by a new one with the same spec, so it is only in this
        // array.
        Arrays.stream(byRssTag).filter(Objects::nonNull).forEach(entries::add);
        return entries;
    }

    private void remove(Entry entry) {
        if (entry.isRss()) {
            rssBySpec.remove(entry.spec, entry);
        } else {
            bySpec.remove(entry.spec);
            removeTag(entry.tag);
        }
        unsteer(entry);
    }

    private void removeTag(int tag) {
        if (tag >= FIRST_SHAREABLE_TAG) {
            byShareableTag.remove(tag);
            return;
        }
        byTag[tag] = null;
        if (tag > 0) {
            quarantinedTags.set(tag);
        }
    }

    private void removeFromDevice(Entry entry) {
        if (entry.isRss()) {
            device.rssFlows().detach(entry.rss, queue);
        } else {
            entry.flow.close();
        }
    }

    private void unsteer(Entry entry) {
        if (!entry.isRss()) {
            entry.flow.close();
            return;
        }
        int index = entry.tag - RssFlows.FIRST_TAG;
        // If the rule was withdrawn, its entry has been removed when the queue was replaced.
        if (byRssTag[index] == entry) {
            byRssTag[index] = null;
            device.rssFlows().detach(entry.rss, queue);
        }
    }

    /**
     * Removes all rules from the device, runs an action that replaces the queue, and installs the rules again.
     * Tags remain valid during the action, so frames received by then are still dispatched. Frames that arrive in
     * between match no rule of this queue: other loops of shared rules receive them, or else the kernel.
     */
    void rebuild(Runnable action) {
        // Also leave rules that a server has opened but this loop has not joined yet. Otherwise these would be
        // lost for all loops.
        device.suspendRules(queue);
        entries().forEach(this::removeFromDevice);
        action.run();
        device.resumeRules(queue);
        Set<Entry> entries = entries();
        // Also remove rules that handlers have added during the action: they lead to the old queue.
        entries.forEach(this::unsteer);
        for (Entry entry : entries) {
            reinstallRule(entry);
        }
    }

    /**
     * Installs a rule again. Retries, because the kernel may be short of memory temporarily; persistent failure
     * ends the queue.
     */
    private void reinstallRule(Entry entry) {
        for (int attempt = 1; ; attempt++) {
            try {
                if (entry.isRss()) {
                    rejoin(entry);
                } else {
                    steer(entry);
                }
                return;
            } catch (VerbsException e) {
                if (attempt == MAX_STEER_ATTEMPTS) {
                    throw e;
                }
                LOGGER.debug("{}: the device rejected the rule \"{}\"; retrying", device.name(), entry.spec, e);
            }
        }
    }

    private void rejoin(Entry entry) {
        RssFlow joined = device.rssFlows().reattach(entry.rss, queue);
        // Null means that the server has withdrawn the rule in the meantime.
        if (joined != null) {
            setRss(entry, joined);
        }
    }

    void close() {
        entries().forEach(this::remove);
        device.retire(queue);
        byReceiver.clear();
    }
}
