package io.rdmaraw.host.userspace;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.device.FrameReceiver;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.PortOwner;
import io.rdmaraw.memory.FrameBuf;
import io.rdmaraw.metrics.RdmaRawMetered;
import io.rdmaraw.metrics.internal.FrameDrops;
import io.rdmaraw.net.IpAddress;
import io.rdmaraw.net.ReassemblyLimits;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.ReceiveBurst;
import io.rdmaraw.wire.IpProtocol;

import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * The part of a loop in a {@link UserspaceIpHost}. The driver of the first loop receives for the host and sends its
 * frames. Used on the loop's thread only; while it drives the host, under the host's lock.
 */
final class UserspaceHostDriver implements FrameReceiver, ControlOutput {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(UserspaceHostDriver.class);
    private static final long MIN_TIMER_NANOS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long MAX_TIMER_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final UserspaceIpHost ipHost;
    private final DeviceQueue deviceQueue;
    private final IpContext ipContext;
    private final EventLoop loop;
    private final UserspaceGroupRules groupRules;
    private UserspaceHostEngine host;
    private UserspaceHostReceiver receiver;
    private FrameBuf controlFrame;
    private ScheduledFuture<?> timer;
    private long timerDueNanos;
    private boolean driving;
    private boolean inBurst;

    UserspaceHostDriver(UserspaceIpHost ipHost, DeviceQueue deviceQueue, IpContext ipContext, EventLoop loop) {
        this.ipHost = ipHost;
        this.deviceQueue = deviceQueue;
        this.ipContext = ipContext;
        this.loop = loop;
        groupRules = new UserspaceGroupRules(deviceQueue, this);
    }

    DeviceQueue deviceQueue() {
        return deviceQueue;
    }

    Executor loop() {
        return loop;
    }

    /** Starts to drive the host. */
    void startDriving(UserspaceHostEngine drivenHost) {
        host = drivenHost;
        driving = true;
        receiver = new UserspaceHostReceiver(host, this::find, ipContext, ByteBufAllocator.DEFAULT,
                ReassemblyLimits.DEFAULT, ipHost.statistics());
        deviceQueue.attach(this, UserspaceHostRules.of(ipHost.mac(), host.addresses()));
        groupRules.steer(host.groups());
        setTimer();
    }

    /**
     * Returns the owner of a port. A segment to a closed port is passed to a stack, which answers with a reset (RFC
     * 9293 section 3.10.7.1). The stack of this loop is preferred.
     */
    private PortOwner find(int protocol, IpAddress source, int sourcePort, IpAddress destination,
            int destinationPort) {
        PortOwner owner = ipHost.find(protocol, source, sourcePort, destination, destinationPort);
        if (owner != null || protocol != IpProtocol.TCP) {
            return owner;
        }
        PortOwner resettingOwner = ipHost.preferredStack(loop);
        return resettingOwner == null ? null : new UserspaceTcpNetwork.StackPortOwner(ipHost, resettingOwner);
    }

    void stop() {
        if (driving) {
            driving = false;
            receiver.close();
            deviceQueue.detach(this);
            groupRules.remove();
        }
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    void solicit(IpAddress hop) {
        synchronized (ipHost) {
            if (driving) {
                host.solicit(hop, System.nanoTime());
                finishWork();
            }
        }
    }

    void changeGroups(LongConsumer change) {
        synchronized (ipHost) {
            if (driving) {
                change.accept(System.nanoTime());
                groupRules.steer(host.groups());
                finishWork();
            }
        }
    }

    /**
     * Schedules the next {@link #onTimer}. A timer that expires earlier remains, so that not every burst replaces it.
     * It schedules the next one itself.
     */
    private void setTimer() {
        long nowNanos = System.nanoTime();
        long untilNanos = Math.min(ipHost.untilPublishNanos(nowNanos),
                Math.min(host.deadlineNanos(), receiver.deadlineNanos()) - nowNanos);
        long delayNanos = Math.clamp(untilNanos, MIN_TIMER_NANOS, MAX_TIMER_NANOS);
        if (timer != null && timerDueNanos - (nowNanos + delayNanos) <= 0) {
            return;
        }
        if (timer != null) {
            timer.cancel(false);
        }
        timerDueNanos = nowNanos + delayNanos;
        timer = loop.schedule(this::onTimer, delayNanos, TimeUnit.NANOSECONDS);
    }

    private void onTimer() {
        synchronized (ipHost) {
            timer = null;
            if (driving) {
                long now = System.nanoTime();
                host.poll(now);
                receiver.poll(now);
                finishWork();
            }
        }
    }

    private void finishWork() {
        deviceQueue.frameQueue().post();
        ipHost.publish();
        setTimer();
    }

    @Override
    public String label() {
        return "host";
    }

    @Override
    public RdmaRawMetered statistics() {
        return ipHost.statistics();
    }

    @Override
    public FrameDrops<?> frameDrops() {
        return UserspaceHostStatistics.TABLE.frameDrops(ipHost.statistics());
    }

    @Override
    public boolean receive(ByteBuf frame, boolean checksumVerified) {
        synchronized (ipHost) {
            process(frame, checksumVerified);
            deviceQueue.frameQueue().post();
        }
        return true;
    }

    private void process(ByteBuf frame, boolean checksumVerified) {
        if (driving) {
            receiver.receive(frame, checksumVerified, System.nanoTime());
        } else {
            frame.release();
        }
    }

    /**
     * Posts the host's replies before a channel processes its frames of the burst. A frame rejected by the device is
     * identified by its position among the posted ones, and a channel counts only the frames that it has posted.
     */
    @Override
    public int receiveRun(ReceiveBurst burst, int from, int end) {
        inBurst = true;
        synchronized (ipHost) {
            try {
                for (int i = from; i < end; i++) {
                    process(burst.takeFrame(i), burst.checksumVerified(i));
                }
            } finally {
                deviceQueue.frameQueue().post();
            }
        }
        return end;
    }

    @Override
    public boolean isInBurst() {
        return inBurst;
    }

    @Override
    public void endBurst() {
        inBurst = false;
        synchronized (ipHost) {
            if (driving) {
                finishWork();
            }
        }
    }

    @Override
    public void onSendRoom() {
        // No frame waits for room: a peer without a reply repeats its request.
    }

    @Override
    public long allocate() {
        FrameQueue queue = deviceQueue.frameQueue();
        if (queue.sendRoom() == 0) {
            queue.post();
            queue.reclaim();
        }
        if (queue.sendRoom() == 0 || queue.slots().available() == 0) {
            return 0;
        }
        if (controlFrame == null) {
            controlFrame = queue.slots().acquire();
        }
        return controlFrame.memoryAddress();
    }

    @Override
    public void send(int lengthBytes) {
        FrameBuf frame = controlFrame;
        controlFrame = null;
        frame.writerIndex(lengthBytes);
        if (deviceQueue.frameQueue().offer(frame) != FrameQueue.ACCEPTED) {
            frame.release();
            LOGGER.debug("{}: the send queue is full, a control frame is lost", deviceQueue.device().name());
        }
    }
}
