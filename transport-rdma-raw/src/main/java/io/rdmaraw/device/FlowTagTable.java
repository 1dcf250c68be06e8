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
import io.rdmaraw.verbs.Flow;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowType;

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
 * Maps flow tags to channels. Every rule of a loop has its own tag; rules that loops share have higher
 * ones, the same on all of them; the array lookup by tag is all that the hot path does.
 *
 * <p>Rules that every loop and process may have for itself ({@link FlowSpec#isShareable()}) have tags that follow from
 * the rule: mlx5's driver takes a second rule of the same match only with the same tag ({@code check_conflicting_ftes}
 * of the kernel's fs_core.c). Special rules ({@link FlowType}) have none, as that driver drops it.
 */
final class FlowTagTable {
    /** A rule and the channels that receive by it. */
    static final class Entry {
        private final FlowSpec spec;
        private int tag;
        /** One of these two is there. */
        private Flow flow;
        private RssFlow rss;
        /** Replaced, never changed: a handler may detach a channel while a burst is being handed out. */
        FrameReceiver[] channels = {};
        /** The device hands over frames with a VLAN tag, which the rule is not for. */
        final boolean refusesTagged;

        private Entry(FlowSpec spec, int tag, boolean deviceTakesTagged) {
            this.spec = spec;
            this.tag = tag;
            refusesTagged = deviceTakesTagged && spec.isUntaggedIp();
        }

        /** Each frame goes to one of the channels; of other rules every channel gets every frame. */
        boolean isRss() {
            return rss != null;
        }

        private boolean add(FrameReceiver channel) {
            if (Arrays.asList(channels).contains(channel)) {
                return false;
            }
            FrameReceiver[] grown = Arrays.copyOf(channels, channels.length + 1);
            grown[grown.length - 1] = channel;
            channels = grown;
            return true;
        }

        private void remove(FrameReceiver channel) {
            List<FrameReceiver> rest = new ArrayList<>(Arrays.asList(channels));
            rest.remove(channel);
            channels = rest.toArray(FrameReceiver[]::new);
        }
    }

    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(FlowTagTable.class);
    private static final int MAX_TAG = 0xffffff;
    private static final int MAX_STEER_ATTEMPTS = 3;
    private static final int FIRST_SHAREABLE_TAG = 1 << 23;
    /** Odd, and its bits are spread: of 2^32 divided by the golden ratio. */
    private static final int HASH_FACTOR = 0x9e3779b9;

    private final Map<FlowSpec, Entry> bySpec = new HashMap<>();
    private final Map<FlowSpec, Entry> rssBySpec = new HashMap<>();
    private final FrameQueue queue;
    private final SharedDevice device;
    /** Index 0 is the special rule's: devices use tag 0 for frames of rules without a tag. */
    private Entry[] byTag = new Entry[8];
    private final IntObjectMap<Entry> byShareableTag = new IntObjectHashMap<>();
    private final boolean deviceTakesTagged;
    private Entry[] byRssTag = new Entry[0];
    /** Tags of rules that are gone, of which frames may still lie in the queue: not for another rule yet. */
    private final BitSet resting = new BitSet();
    /** Every lower tag is in use or waits for reuse. */
    private int leastFreeTag = 1;
    /** The rules that each channel receives by: of ten thousand connections each finds its own when it closes. */
    private final Map<FrameReceiver, List<Entry>> byChannel = new IdentityHashMap<>();

    FlowTagTable(FrameQueue queue, SharedDevice device) {
        this.queue = queue;
        this.device = device;
        deviceTakesTagged = !new DeviceName(device.name()).isSoftware();
    }

    /** Returns the rule of a tag; null when no channel on this loop receives by it. */
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

    /** Steers frames to a channel of this loop. */
    void attach(FrameReceiver channel, FlowSpec spec) {
        Entry entry = bySpec.get(spec);
        if (entry == null) {
            spec.checkHostTraffic();
            entry = spec.isShareable() || spec.type() != FlowType.NORMAL ? attachByRule(spec) : attachByFreeTag(spec);
            bySpec.put(spec, entry);
        }
        add(channel, entry);
    }

    private Entry attachByFreeTag(FlowSpec spec) {
        int tag = freeTag();
        Entry entry = new Entry(spec, tag, deviceTakesTagged);
        steer(entry);
        byTag[tag] = entry;
        leastFreeTag = tag + 1;
        return entry;
    }

    private Entry attachByRule(FlowSpec spec) {
        boolean special = spec.type() != FlowType.NORMAL;
        if (special && byTag[0] != null) {
            throw new IllegalArgumentException("the rule \"" + byTag[0].spec + "\" is there, and devices do not tell"
                    + " its frames from those of \"" + spec + "\": bind that channel on another loop");
        }
        int tag = special ? 0 : shareableTag(spec);
        Entry entry = new Entry(spec, tag, deviceTakesTagged);
        steer(entry);
        if (special) {
            byTag[0] = entry;
        } else {
            byShareableTag.put(tag, entry);
        }
        return entry;
    }

    /** Two rules seldom have the same; then the one that is second gets the next. */
    private int shareableTag(FlowSpec spec) {
        int hash = spec.toBuilder().allowHostTraffic().build().toString().hashCode() * HASH_FACTOR;
        int tag = FIRST_SHAREABLE_TAG | hash >>> Byte.SIZE + 1;
        while (byShareableTag.containsKey(tag)) {
            tag = tag == MAX_TAG ? FIRST_SHAREABLE_TAG : tag + 1;
        }
        return tag;
    }

    private void add(FrameReceiver channel, Entry entry) {
        if (entry.add(channel)) {
            byChannel.computeIfAbsent(channel, made -> new ArrayList<>(1)).add(entry);
        }
    }

    /** Has a channel of this loop share a rule with those of other loops; see {@link RssFlows#join}. */
    void attachRss(FrameReceiver channel, FlowSpec spec, Object ownerOrNull) {
        Entry entry = rssBySpec.get(spec);
        if (entry == null || entry.rss.isWithdrawn()) {
            spec.checkHostTraffic();
            entry = new Entry(spec, 0, deviceTakesTagged);
            setRss(entry, device.rssFlows().join(spec, queue, ownerOrNull));
            rssBySpec.put(spec, entry);
        }
        add(channel, entry);
    }

    private void steer(Entry entry) {
        boolean special = entry.spec.type() != FlowType.NORMAL;
        entry.flow = queue.steer(special ? entry.spec : entry.spec.toBuilder().tag(entry.tag).build());
        String problem = entry.flow.addressProblem();
        if (problem != null && device.toldReasons().add(problem)) {
            LOGGER.warn("{}: {}", device.name(), problem);
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
        int tag = leastFreeTag;
        while (tag < byTag.length && (byTag[tag] != null || resting.get(tag))) {
            tag++;
        }
        if (tag == RssFlows.FIRST_TAG) {
            // As many rules came and went as there are tags, and the queue was never found empty.
            queueEmpty();
            return freeTag();
        }
        if (tag == byTag.length) {
            byTag = Arrays.copyOf(byTag, 2 * tag);
        }
        return tag;
    }

    /** The queue was found empty: no frame of a rule that is gone can come any more. */
    void queueEmpty() {
        if (!resting.isEmpty()) {
            leastFreeTag = Math.min(leastFreeTag, resting.nextSetBit(0));
            resting.clear();
        }
    }

    void detach(FrameReceiver channel) {
        List<Entry> left = byChannel.remove(channel);
        if (left == null) {
            return;
        }
        for (Entry entry : left) {
            if (entry.channels.length == 1) {
                remove(entry);
            } else {
                entry.remove(channel);
            }
        }
    }

    /**
     * Leaves shared rules of one channel alone to other loops; the channel still gets what the device has brought.
     *
     * @return whether all have been left: not where the device has no room for what takes their place
     */
    boolean leaveToOthers(FrameReceiver channel) {
        boolean left = true;
        for (Entry entry : byChannel.getOrDefault(channel, List.of())) {
            left &= entry.isRss() && entry.channels.length == 1 && device.rssFlows().leaveToOthers(entry.rss, queue);
        }
        return left;
    }

    /** Returns how many rules there are. */
    int ruleCount() {
        return bySpec.size() + rssBySpec.size();
    }

    private Set<Entry> entries() {
        Set<Entry> entries = new LinkedHashSet<>(bySpec.values());
        // One that could not be joined again yet is found here alone.
        entries.addAll(rssBySpec.values());
        // A rule that was withdrawn may have been followed by one of the same kind already.
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
            resting.set(tag);
        }
    }

    private void stopSteering(Entry entry) {
        if (entry.isRss()) {
            device.rssFlows().leave(entry.rss, queue);
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
        // A rule that was withdrawn is not there any more once the queue has been replaced.
        if (byRssTag[index] == entry) {
            byRssTag[index] = null;
            device.rssFlows().leave(entry.rss, queue);
        }
    }

    /**
     * Removes all rules from the device while {@code action} replaces the queue, and attaches them again. What has come
     * in by them can still be told apart while the action runs: no more comes then, so none is lost between.
     */
    void rebuild(Runnable action) {
        // Those too that a server has opened and this loop has yet to join: with the queue they would go for all loops.
        device.leaveRules(queue);
        entries().forEach(this::stopSteering);
        action.run();
        device.comeBackToRules(queue);
        Set<Entry> entries = entries();
        // Rules that handlers have made meanwhile lead to the old queue.
        entries.forEach(this::unsteer);
        for (Entry entry : entries) {
            steerAgain(entry);
        }
    }

    /** The kernel may be out of memory for a moment; a rule that it refuses for good ends the queue. */
    private void steerAgain(Entry entry) {
        for (int attempt = 1; ; attempt++) {
            try {
                if (entry.isRss()) {
                    joinAgain(entry);
                } else {
                    steer(entry);
                }
                return;
            } catch (VerbsException e) {
                if (attempt == MAX_STEER_ATTEMPTS) {
                    throw e;
                }
                LOGGER.debug("{}: the rule \"{}\" is refused, and tried again", device.name(), entry.spec, e);
            }
        }
    }

    private void joinAgain(Entry entry) {
        RssFlow joined = device.rssFlows().joinAgain(entry.rss, queue);
        // Else the server has withdrawn it, perhaps just now.
        if (joined != null) {
            setRss(entry, joined);
        }
    }

    void close() {
        entries().forEach(this::remove);
        device.retire(queue);
        byChannel.clear();
    }
}
