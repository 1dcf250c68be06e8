package io.rdmaraw.queue;

import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.memory.RegisteredRanges;
import io.rdmaraw.verbs.objects.AsyncEvent;
import io.rdmaraw.verbs.objects.AsyncEventType;
import io.rdmaraw.verbs.objects.ExtendedDeviceAttributes;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.RawPacketProbe;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import io.rdmaraw.verbs.port.HardwareCounters;
import io.rdmaraw.verbs.softverbs.DeviceCounters;
import io.rdmaraw.verbs.softverbs.Softverbs;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * An open device, shared by all loops of the process. It has one context and one protection domain, so that
 * each loop can send memory registered by another. Reference-counted; releasing the last reference closes the
 * device. After a fatal event of the device, a second object with the same name can exist until the loops have
 * released the first. Thread-safe.
 */
public final class SharedDevice {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(SharedDevice.class);
    /** Guards itself and {@link #references}. Never held while a device is opened or closed. */
    private static final Map<String, SharedDevice> OPEN_DEVICES = new HashMap<>();
    /**
     * One lock for each name, held while a device of that name is opened or closed, which may take seconds. Loops that
     * use other devices do not wait. Acquired before {@link #OPEN_DEVICES}.
     */
    private static final ConcurrentMap<String, Object> NAME_LOCKS = new ConcurrentHashMap<>();

    private final String name;
    private final Object dispatchLock = new Object();
    private final VerbsContext context;
    private final ProtectionDomain protectionDomain;
    private final RegisteredRanges registeredRanges = new RegisteredRanges();
    /** The lkey of all memory of the process, or {@link RegisteredRanges#UNREGISTERED}. */
    private final long allMemoryLkey;
    private final boolean offloadsChecksums;
    private final int maxTsoBytes;
    private final int portCount;
    private final AtomicInteger completionVectorsAssigned = new AtomicInteger();
    private RssFlows rssFlows;
    /** Queues that were closed before {@link #rssFlows} was created. */
    private final Set<FrameQueue> retiredBeforeRss = Collections.newSetFromMap(new WeakHashMap<>());
    /** Queues that were being replaced before {@link #rssFlows} was created. */
    private final Set<FrameQueue> suspendedBeforeRss = Collections.newSetFromMap(new WeakHashMap<>());
    private final List<AsyncListener> listeners = new CopyOnWriteArrayList<>();
    private final ConcurrentMap<String, Long> reportedReasons = new ConcurrentHashMap<>();
    private int references = 1;
    private final boolean isSoftverbs;
    private final HardwareCounters hardwareCounters;
    /** Guards reading the counters. */
    private final Object countersLock = new Object();
    /** The counters at the time of closing; null while the device is open. */
    private DeviceCounters lastCounters;

    /**
     * Receives asynchronous events of the device. Called on the thread that has read the event, which may be any
     * loop. Other loops may wait for the return, so an implementation must not wait for a loop; see
     * {@link #dispatchAsyncEvents}.
     */
    public interface AsyncListener {
        /** Called for each asynchronous event. */
        void onAsyncEvent(AsyncEvent event);
    }

    private SharedDevice(String name, VerbsContext context) {
        this.name = name;
        this.context = context;
        isSoftverbs = Softverbs.isSoftverbs(context);
        protectionDomain = context.allocateProtectionDomain();
        allMemoryLkey = isSoftverbs ? protectionDomain.registerAllMemory().lkey() & 0xffffffffL
                : RegisteredRanges.UNREGISTERED;
        ExtendedDeviceAttributes attributes = context.queryDeviceExtended();
        portCount = attributes.portCount();
        hardwareCounters = HardwareCounters.of(context.providerDeviceName(), portCount);
        offloadsChecksums = (attributes.rawPacketCapabilities() & ExtendedDeviceAttributes.RAW_PACKET_IP_CSUM) != 0;
        boolean segments = (attributes.tsoQueuePairTypes() & ExtendedDeviceAttributes.TYPE_RAW_PACKET_BIT) != 0;
        maxTsoBytes = segments && offloadsChecksums ? attributes.maxTsoBytes() : 0;
    }

    /**
     * Opens a device, or adds a reference if it is already open. A removed device does not count as
     * open; see {@link #countAsRemoved}.
     *
     * @throws io.rdmaraw.verbs.VerbsException if the device does not exist, cannot be opened, or cannot carry
     *         the transport
     */
    public static SharedDevice acquire(String name) {
        return acquire(name, VerbsDevices::open);
    }

    /** @param opener opens a device that is not open yet */
    static SharedDevice acquire(String name, Function<String, VerbsContext> opener) {
        synchronized (nameLock(name)) {
            SharedDevice open = retainIfOpen(name);
            if (open != null) {
                return open;
            }
            VerbsContext context = opener.apply(name);
            SharedDevice device;
            try {
                if (!Softverbs.isSoftverbs(context)) {
                    RawPacketProbe.check(context);
                }
                device = new SharedDevice(name, context);
            } catch (RuntimeException e) {
                context.close();
                throw e;
            }
            synchronized (OPEN_DEVICES) {
                OPEN_DEVICES.put(name, device);
            }
            logMode(name, Softverbs.modeOf(context));
            return device;
        }
    }

    private static Object nameLock(String name) {
        return NAME_LOCKS.computeIfAbsent(name, key -> new Object());
    }

    private static SharedDevice retainIfOpen(String name) {
        synchronized (OPEN_DEVICES) {
            SharedDevice device = OPEN_DEVICES.get(name);
            return device == null ? null : device.retain();
        }
    }

    private static void logMode(String name, String mode) {
        if (!mode.isEmpty()) {
            LOGGER.info("{}: {}", name, mode);
        }
    }

    /** Adds a reference. The caller must have one, or know that another owner keeps the device open. */
    public SharedDevice retain() {
        synchronized (OPEN_DEVICES) {
            references++;
            return this;
        }
    }

    /** Releases a reference. The last one closes the device. */
    public void release() {
        synchronized (OPEN_DEVICES) {
            if (references > 1) {
                references--;
                return;
            }
        }
        // Perhaps the last one. A caller that opens the name again waits until the device is closed.
        synchronized (nameLock(name)) {
            synchronized (OPEN_DEVICES) {
                if (--references > 0) {
                    return;
                }
                OPEN_DEVICES.remove(name, this);
            }
            synchronized (countersLock) {
                lastCounters = Softverbs.countersOf(context).withoutRules();
            }
            protectionDomain.close();
            context.close();
        }
    }

    /**
     * Checks a port number.
     *
     * @throws IllegalArgumentException if the device has no such port
     */
    public void checkPort(int portNumber) {
        if (portNumber < 1 || portNumber > portCount) {
            throw new IllegalArgumentException(name + " has no port " + portNumber + "; "
                    + (portCount == 1 ? "its only one is 1" : "its ports are 1 to " + portCount));
        }
    }

    /** Returns the name under which the device was opened. */
    public String name() {
        return name;
    }

    /** Returns the problems that have been logged for this device, with the {@link System#nanoTime()} of the line. */
    public ConcurrentMap<String, Long> reportedReasons() {
        return reportedReasons;
    }

    /** Returns the open context. */
    public VerbsContext context() {
        return context;
    }

    /** Returns the protection domain of all queues and slabs of this device. */
    public ProtectionDomain protectionDomain() {
        return protectionDomain;
    }

    /** Returns the registered memory ranges. */
    public RegisteredRanges registeredRanges() {
        return registeredRanges;
    }

    /**
     * Returns the lkey with which scatter-gather elements may refer to any memory of the process. Only software
     * devices support this.
     *
     * @return an unsigned 32-bit lkey, or {@link RegisteredRanges#UNREGISTERED}
     */
    public long allMemoryLkey() {
        return allMemoryLkey;
    }

    /** Returns the flow rules that several loops share. */
    public synchronized RssFlows rssFlows() {
        if (rssFlows == null) {
            rssFlows = new RssFlows(context, protectionDomain);
            retiredBeforeRss.forEach(rssFlows::retire);
            suspendedBeforeRss.forEach(rssFlows::suspendQueue);
        }
        return rssFlows;
    }

    /** Removes a queue that is about to be replaced from all shared rules, until it is back and attached again. */
    public synchronized void suspendRules(FrameQueue queue) {
        if (rssFlows != null) {
            rssFlows.suspendQueue(queue);
        } else {
            suspendedBeforeRss.add(queue);
        }
    }

    /** Permits a queue to be attached to shared rules again after it was replaced. */
    public synchronized void resumeRules(FrameQueue queue) {
        if (rssFlows != null) {
            rssFlows.resumeQueue(queue);
        }
        suspendedBeforeRss.remove(queue);
    }

    /**
     * Removes a queue that is about to close from all shared rules. Does not call the device, which may be
     * gone.
     */
    public synchronized void retire(FrameQueue queue) {
        if (rssFlows != null) {
            rssFlows.retire(queue);
        } else {
            retiredBeforeRss.add(queue);
        }
    }

    /**
     * Returns the counters that the device has beyond verbs. After closing, returns their last values, with 0
     * installed rules.
     */
    public DeviceCounters counters() {
        if (!isSoftverbs) {
            // Fast exit, because loops call this while processing segments.
            return DeviceCounters.NONE;
        }
        synchronized (countersLock) {
            return lastCounters == null ? Softverbs.countersOf(context) : lastCounters;
        }
    }

    /**
     * Returns the number of frames dropped since the device was opened because no receive was posted. The counter
     * of a card is up to about a second old and includes the frames of other processes; see
     * {@link HardwareCounters}.
     */
    public long noReceiveDrops() {
        return isSoftverbs ? counters().noReceiveDrops() : hardwareCounters.outOfBufferDrops();
    }

    /** Returns whether the device computes the IPv4, UDP and TCP checksums of sent frames. */
    public boolean offloadsChecksums() {
        return offloadsChecksums;
    }

    /** Returns the maximum TCP payload that the device segments (TSO), or 0 without TSO. */
    public int maxTsoBytes() {
        return maxTsoBytes;
    }

    /**
     * Returns the completion vector for the next queue. Queues use the vectors in turn, which spreads their
     * interrupts over the CPUs.
     */
    int nextCompletionVector() {
        return Math.floorMod(completionVectorsAssigned.getAndIncrement(), Math.max(1, context.completionVectorCount()));
    }

    /** Adds a listener for asynchronous events. */
    public void addListener(AsyncListener listener) {
        listeners.add(listener);
    }

    /** Removes a listener. */
    public void removeListener(AsyncListener listener) {
        listeners.remove(listener);
    }

    /**
     * Reads all pending asynchronous events and notifies every listener of each. Does not wait for events, but
     * waits for another loop that is dispatching events at the same time.
     *
     * @throws io.rdmaraw.verbs.VerbsException if the events cannot be read, perhaps because the device was removed
     */
    public void dispatchAsyncEvents() {
        // Any loop may read an event. Listeners must be notified before the next event is read and before another
        // loop returns from this method, because the order of failures and resets matters.
        synchronized (dispatchLock) {
            AsyncEvent event;
            while ((event = nextAsyncEvent()) != null) {
                dispatch(event);
            }
        }
    }

    private void dispatch(AsyncEvent event) {
        if (event.type() == AsyncEventType.DEVICE_FATAL) {
            // Logged before the channels close, because a program may end when they do.
            LOGGER.warn("{}: the device has failed or was removed; its channels are closed", name);
            countAsRemoved();
        }
        for (AsyncListener listener : listeners) {
            listener.onAsyncEvent(event);
        }
    }

    /** From now on, {@link #acquire} of the name opens a new device. */
    public void countAsRemoved() {
        synchronized (OPEN_DEVICES) {
            OPEN_DEVICES.remove(name, this);
        }
    }

    private synchronized AsyncEvent nextAsyncEvent() {
        return context.pollAsyncEvent();
    }
}
