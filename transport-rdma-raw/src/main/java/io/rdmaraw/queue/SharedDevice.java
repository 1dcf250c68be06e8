package io.rdmaraw.queue;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.verbs.AsyncEvent;
import io.rdmaraw.verbs.AsyncEventType;
import io.rdmaraw.verbs.softverbs.DeviceCounters;
import io.rdmaraw.verbs.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.RawPacketProbe;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.softverbs.Softverbs;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An open device, shared by all loops of the process: one context and one protection domain, so that memory registered
 * by one loop can be sent by every other. Counted references; closed with the last one. Thread-safe.
 */
public final class SharedDevice {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(SharedDevice.class);
    private static final Map<String, SharedDevice> OPEN = new HashMap<>();

    private final String name;
    private final Object dispatching = new Object();
    private final VerbsContext context;
    private final ProtectionDomain protectionDomain;
    private final RegisteredRanges registeredRanges = new RegisteredRanges();
    /** The key of all memory of the process, or {@link RegisteredRanges#UNREGISTERED}. */
    private final long allMemoryLkey;
    private final boolean offloadsChecksums;
    private final int maxSegmentedBytes;
    private final int ports;
    private final AtomicInteger completionVectorsTaken = new AtomicInteger();
    private RssFlows rssFlows;
    /** Queues that closed before there were any spread rules. */
    private final Set<FrameQueue> retiredBefore = Collections.newSetFromMap(new WeakHashMap<>());
    /** Queues that are being replaced since before there were any. */
    private final Set<FrameQueue> awayBefore = Collections.newSetFromMap(new WeakHashMap<>());
    private final List<AsyncListener> listeners = new CopyOnWriteArrayList<>();
    private final Set<String> toldReasons = ConcurrentHashMap.newKeySet();
    private int references = 1;
    private final boolean countsBeyondVerbs;
    /** Held while the counters are read: loops read them, and must not wait while another device is opened. */
    private final Object countersLock = new Object();
    /** What the device had counted when it was closed; null while it is open. */
    private DeviceCounters lastCounters;

    /** Hears of what happens to the device; called on the thread that found the event. */
    public interface AsyncListener {
        /** Called for each asynchronous event of the device. */
        void onAsyncEvent(AsyncEvent event);
    }

    private SharedDevice(String name, VerbsContext context) {
        this.name = name;
        this.context = context;
        countsBeyondVerbs = Softverbs.isSoftverbs(context);
        protectionDomain = context.allocateProtectionDomain();
        allMemoryLkey = countsBeyondVerbs ? protectionDomain.registerAllMemory().lkey() & 0xffffffffL
                : RegisteredRanges.UNREGISTERED;
        ExtendedDeviceAttributes attributes = context.queryDeviceExtended();
        ports = attributes.ports();
        offloadsChecksums = (attributes.rawPacketCapabilities() & ExtendedDeviceAttributes.RAW_PACKET_IP_CSUM) != 0;
        boolean segments = (attributes.tsoQueuePairTypes() & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) != 0;
        maxSegmentedBytes = segments && offloadsChecksums ? attributes.maxTsoBytes() : 0;
    }

    /**
     * Opens a device, or returns it with one more reference if it is open already.
     *
     * @throws io.rdmaraw.verbs.VerbsException when there is no such device or it cannot be opened
     */
    public static SharedDevice acquire(String name) {
        synchronized (OPEN) {
            SharedDevice device = OPEN.get(name);
            if (device != null) {
                return device.retain();
            }
            VerbsContext context = VerbsDevices.open(name);
            try {
                if (!Softverbs.isSoftverbs(context)) {
                    RawPacketProbe.check(context);
                }
                device = new SharedDevice(name, context);
            } catch (RuntimeException e) {
                context.close();
                throw e;
            }
            OPEN.put(name, device);
            logMode(name, Softverbs.modeOf(context));
            return device;
        }
    }

    private static void logMode(String name, String mode) {
        if (!mode.isEmpty()) {
            LOGGER.info("{}: {}", name, mode);
        }
    }

    /** Takes one more reference. */
    public SharedDevice retain() {
        synchronized (OPEN) {
            references++;
            return this;
        }
    }

    /** Gives a reference back; the last one closes the device. */
    public void release() {
        synchronized (OPEN) {
            if (--references == 0) {
                OPEN.remove(name, this);
                synchronized (countersLock) {
                    lastCounters = Softverbs.countersOf(context).withoutRules();
                }
                protectionDomain.close();
                context.close();
            }
        }
    }

    /** @throws IllegalArgumentException when the device has no such port */
    public void checkPort(int portNumber) {
        if (portNumber < 1 || portNumber > ports) {
            throw new IllegalArgumentException(name + " has no port " + portNumber + "; "
                    + (ports == 1 ? "its only one is 1" : "its ports are 1 to " + ports));
        }
    }

    /** Returns the name it was opened by. */
    public String name() {
        return name;
    }

    /** Returns the reasons for drops that have been logged of this device; any thread may add to it. */
    public Set<String> toldReasons() {
        return toldReasons;
    }

    /** Returns the open context. */
    public VerbsContext context() {
        return context;
    }

    /** Returns the protection domain that all queues and slabs of the device live in. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** Returns what memory is registered. */
    public RegisteredRanges registeredRanges() {
        return registeredRanges;
    }

    /**
     * Returns the key by which what is gathered is sent from anywhere in the process's memory, where a processor does
     * it: 32 bits, or {@link RegisteredRanges#UNREGISTERED} on a device that reads registered memory alone.
     */
    public long allMemoryLkey() {
        return allMemoryLkey;
    }

    /** Returns the rules that several loops share. */
    public synchronized RssFlows rssFlows() {
        if (rssFlows == null) {
            rssFlows = new RssFlows(context, protectionDomain);
            retiredBefore.forEach(rssFlows::retire);
            awayBefore.forEach(rssFlows::goAway);
        }
        return rssFlows;
    }

    /** A queue is about to be replaced: no rule that loops share leads to it until it is back and joins again. */
    public synchronized void leaveRules(FrameQueue queue) {
        if (rssFlows != null) {
            rssFlows.goAway(queue);
        } else {
            awayBefore.add(queue);
        }
    }

    /** A queue has been replaced, and may join rules again. */
    public synchronized void comeBackToRules(FrameQueue queue) {
        if (rssFlows != null) {
            rssFlows.comeBack(queue);
        }
        awayBefore.remove(queue);
    }

    /** A queue is about to close: no rule leads to it any more. Asks nothing of the device, which may be gone. */
    public synchronized void retire(FrameQueue queue) {
        if (rssFlows != null) {
            rssFlows.retire(queue);
        } else {
            retiredBefore.add(queue);
        }
    }

    /** Asks for what the device counts beyond verbs; once it is closed, returns what it had counted then. */
    public DeviceCounters counters() {
        if (!countsBeyondVerbs) {
            // Loops ask on the way of a segment.
            return DeviceCounters.NONE;
        }
        synchronized (countersLock) {
            return lastCounters == null ? Softverbs.countersOf(context) : lastCounters;
        }
    }

    /** Tells whether the device computes the checksums of IPv4, UDP and TCP in frames that are sent. */
    public boolean offloadsChecksums() {
        return offloadsChecksums;
    }

    /** Returns how long a TCP payload may be that the device cuts into segments when it is sent; 0: it cuts none. */
    public int maxSegmentedBytes() {
        return maxSegmentedBytes;
    }

    /**
     * Returns the completion vector of the next queue: they take turns, so that the interrupts of one loop's queues do
     * not run on the processor of another's.
     */
    int nextCompletionVector() {
        return Math.floorMod(completionVectorsTaken.getAndIncrement(), Math.max(1, context.completionVectors()));
    }

    /** Adds a listener for asynchronous events. */
    public void addListener(AsyncListener listener) {
        listeners.add(listener);
    }

    /** Removes a listener. */
    public void removeListener(AsyncListener listener) {
        listeners.remove(listener);
    }

    /** Takes all asynchronous events that wait and tells every listener of each. Does not block. */
    public void dispatchAsyncEvents() {
        // Any loop may read an event. Its listeners hear of it before the next one is read, and before another loop
        // that looks for events comes back: the order of failures, and whether one was before a reset, matter.
        synchronized (dispatching) {
            AsyncEvent event;
            while ((event = nextAsyncEvent()) != null) {
                dispatch(event);
            }
        }
    }

    private void dispatch(AsyncEvent event) {
        if (event.type() == AsyncEventType.DEVICE_FATAL) {
            // Opening the device by its name from now on gives the one that comes back.
            synchronized (OPEN) {
                OPEN.remove(name, this);
            }
        }
        for (AsyncListener listener : listeners) {
            listener.onAsyncEvent(event);
        }
    }

    private synchronized AsyncEvent nextAsyncEvent() {
        return context.pollAsyncEvent();
    }
}
