package io.rdmaraw.channel;

import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.util.concurrent.ThreadAwareExecutor;
import io.netty.util.internal.ObjectUtil;
import io.netty.util.internal.StringUtil;
import io.rdmaraw.channel.loop.LoopQueues;
import io.rdmaraw.channel.loop.LoopStatistics;
import io.rdmaraw.channel.loop.LoopTurn;
import io.rdmaraw.channel.loop.NioRegistrations;
import io.rdmaraw.channel.loop.TcpStackFactory;
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.userspace.UserspaceHostStatistics;
import io.rdmaraw.loop.EpollLoop;
import io.rdmaraw.loop.LoopDescriptors;
import io.rdmaraw.loop.LoopFailures;
import io.rdmaraw.loop.LoopSleeper;
import io.rdmaraw.loop.NioLoop;
import io.rdmaraw.loop.SpinPolicy;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.internal.MetricsExporters;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.verbs.VerbsException;

import java.io.IOException;
import java.net.SocketException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The I/O handler of an event loop of this transport. It drives the loop's raw-packet queues and the NIO channels that
 * are registered with the loop.
 *
 * <p>A loop polls its queues while there is work. Without work it continues to poll for
 * {@link RdmaRawIoHandlerConfig#spinNanos()}. Then it sleeps until a frame is received, a task is submitted or a timer
 * expires.
 *
 * <p>{@link RdmaRawEventLoopGroup} creates handlers itself. Use {@link #newFactory()} for a
 * {@link io.netty.channel.MultiThreadIoEventLoopGroup}.
 */
public final class RdmaRawIoHandler implements IoHandler {
    /** Number of turns with frames between two calls of the NIO selector. */
    private static final int NIO_INTERVAL_TURNS = 16;
    /** Number of turns between two polls of kernel sockets. A poll is a system call and rarely finds data. */
    private static final int DESCRIPTOR_INTERVAL_TURNS = 64;
    /** Number of turns between two polls for asynchronous events, which are rare. A poll is a system call. */
    private static final int ASYNC_EVENT_INTERVAL_TURNS = 4096;
    private static final long DRAIN_INTERVAL_NANOS = TimeUnit.MICROSECONDS.toNanos(500);
    /** A bound for a peer on the wire that sends without end: 16 turns of at most 512 frames. */
    private static final int MAX_TURNS_BEFORE_CLOSING = 16;
    private static final Map<String, List<RdmaRawMetric>> METRICS_BY_KIND = Map.of(
            "channel", RdmaRawChannelStatistics.TABLE.metrics(),
            "datagram", RdmaRawDatagramStatistics.TABLE.metrics(),
            "host", UserspaceHostStatistics.TABLE.metrics(),
            "tcp", TcpStackStatistics.TABLE.metrics());

    private final ThreadAwareExecutor executor;
    private final RdmaRawIoHandlerConfig config;
    private final NioLoop nio;
    private final NioRegistrations nioRegistrations;
    private final LoopDescriptors descriptors = new LoopDescriptors(this::watchDescriptors);
    private final EpollLoop epoll;
    private final LoopSleeper sleeper;
    private final SpinPolicy spinPolicy;
    private final FrameBurst.Pool burstPool = new FrameBurst.Pool();
    private final LoopFailures failures = new LoopFailures();
    private final LoopStatistics statistics = new LoopStatistics(failures);
    private IpContext ipContext;
    private TcpStack tcpStack;
    private final Set<Registration> registrations = new LinkedHashSet<>();
    private final QueueOwner queueOwner = new QueueOwner();
    private final LoopQueues queues;
    private final LoopTurn turn = new LoopTurn();
    /** Time at which a loop that shuts down stops waiting for peers; 0 before the shutdown. */
    private long drainEndNanos;
    private boolean isClosing;
    private int nioCountdown;
    private int asyncEventCountdown;
    private int descriptorCountdown;

    private RdmaRawIoHandler(ThreadAwareExecutor executor, RdmaRawIoHandlerConfig config,
                             NioRegistrations nioRegistrations) {
        this.executor = executor;
        this.nioRegistrations = nioRegistrations;
        this.config = config;
        spinPolicy = new SpinPolicy(config.spinNanos(), new SplittableRandom());
        nio = new NioLoop(executor);
        epoll = new EpollLoop(executor, descriptors);
        sleeper = new LoopSleeper(nio);
        queues = new LoopQueues(executor, config.queueOptions(), METRICS_BY_KIND, statistics, failures,
                queueOwner);
    }

    /**
     * Returns a factory with the default configuration.
     *
     * @throws UnsatisfiedLinkError if the transport cannot run in this process
     */
    public static IoHandlerFactory newFactory() {
        return newFactory(RdmaRawIoHandlerConfig.defaults());
    }

    /**
     * Returns a factory of handlers for the loops of one group. Create one factory per group: NIO channels are reported
     * once per factory.
     *
     * @throws UnsatisfiedLinkError if the transport cannot run in this process; see
     *         {@link RdmaRaw#unavailabilityCause()}
     */
    public static IoHandlerFactory newFactory(RdmaRawIoHandlerConfig config) {
        ObjectUtil.checkNotNull(config, "config");
        RdmaRaw.ensureAvailability();
        NioRegistrations registrations = new NioRegistrations(config.nioChannels() == NioChannels.REFUSED,
                config.nioChannels() == NioChannels.REPORTED);
        // Netty must not suspend a loop without channels, because connections of closed channels may still be open.
        // Therefore the factory does not support changing threads.
        return loop -> new RdmaRawIoHandler(loop, config, registrations);
    }

    @Override
    public void initialize() {
        Thread thread = Thread.currentThread();
        burstPool.setOwner(thread);
        for (DeviceQueue deviceQueue : turn.deviceQueues()) {
            deviceQueue.frameQueue().slots().setOwner(thread);
        }
        useRegisteredMemory();
        RdmaRawMetrics.loopStarted(statistics, thread.getName(), statistics::name);
        MetricsExporters.loopsChanged();
        nio.initialize();
    }

    @Override
    public int run(IoHandlerContext context) {
        statistics.turns++;
        try {
            boolean report = context.shouldReportActiveIoTime();
            long startNanos = report ? System.nanoTime() : 0;
            int served = serve(context);
            if (served == 0 && context.canBlock()) {
                served = waitForWork(context);
                // The waiting time is not active time.
                startNanos = report ? System.nanoTime() : 0;
                if (served == 0) {
                    served = serve(context);
                }
            }
            if (report && served > 0) {
                context.reportActiveIoTime(System.nanoTime() - startNanos);
            }
            return served;
        } catch (Throwable e) {
            // If a handler throws, Netty ends its loop together with all channels on it. Failures are therefore logged
            // instead.
            failures.add(e);
            return 0;
        }
    }

    /**
     * Serves all queues and descriptors once without waiting for events. Returns 0 if nothing had work; other values
     * have no unit.
     */
    private int serve(IoHandlerContext context) {
        int served = turn.run();
        // A loop that is about to wait runs the selector while waiting. A loop under constant load never waits, so the
        // selector runs here at intervals.
        if (nio.hasHandles() && (nio.hasCancelledHandles() || served == 0 && !context.canBlock()
                || --nioCountdown <= 0)) {
            nioCountdown = NIO_INTERVAL_TURNS;
            served += nio.runNow();
        }
        if (!descriptors.isEmpty() && --descriptorCountdown <= 0) {
            descriptorCountdown = DESCRIPTOR_INTERVAL_TURNS;
            served += descriptors.poll();
        }
        if (--asyncEventCountdown <= 0) {
            asyncEventCountdown = ASYNC_EVENT_INTERVAL_TURNS;
            dispatchAsyncEvents();
        }
        return served;
    }

    private void dispatchAsyncEvents() {
        for (DeviceQueue deviceQueue : turn.deviceQueues()) {
            deviceQueue.dispatchAsyncEvents();
        }
    }

    /**
     * Spins, then sleeps. If spinning receives frames, a complete turn is run. After a sleep, the caller runs one.
     *
     * @return 0 if no turn was run or it had no work; other values have no unit
     */
    private int waitForWork(IoHandlerContext context) {
        int received = spin(context);
        if (received > 0 || sleeper.isWoken() || !context.canBlock()) {
            sleeper.clearWoken();
        } else {
            for (DeviceQueue deviceQueue : turn.deviceQueues()) {
                deviceQueue.arm();
            }
            // Frames that were received before the queues were armed raise no event.
            received = turn.receive();
            if (received == 0 && !turn.hasPendingDelivery()) {
                sleep(context);
            }
        }
        return received > 0 || turn.hasPendingDelivery() ? turn.run(received) : 0;
    }

    private void sleep(IoHandlerContext context) {
        long startNanos = System.nanoTime();
        statistics.sleepStarted(startNanos);
        try {
            sleeper.sleep(context, startNanos, turn.nextDeadlineNanos());
        } finally {
            statistics.sleepEnded();
        }
        if (sleeper.isAsyncReady()) {
            dispatchAsyncEvents();
        }
        if (sleeper.isDescriptorReady()) {
            descriptorCountdown = 0;
        }
        if (sleeper.isCompletionReady()) {
            pollCompletionEvents();
        }
    }

    private void pollCompletionEvents() {
        for (DeviceQueue deviceQueue : turn.deviceQueues()) {
            deviceQueue.pollCompletionEvent();
        }
    }

    private int spin(IoHandlerContext context) {
        if (config.spinNanos() == 0 || turn.deviceQueues().length == 0 || !spinPolicy.shouldSpin()) {
            return 0;
        }
        long startNanos = System.nanoTime();
        // Last time that was read. The statistics use it, so that no extra clock read delays a received frame.
        long nowNanos = startNanos;
        long deadlineNanos = turn.nextDeadlineNanos();
        int received;
        do {
            Thread.onSpinWait();
            received = turn.receive();
        } while (received == 0 && !turn.hasPendingDelivery() && !sleeper.isWoken() && context.canBlock()
                && (nowNanos = System.nanoTime()) - startNanos < config.spinNanos() && nowNanos < deadlineNanos);
        if (received > 0 || nowNanos - startNanos >= config.spinNanos()) {
            spinPolicy.spinEnded(received > 0, nowNanos - startNanos);
        }
        statistics.spins++;
        statistics.spinNanos += nowNanos - startNanos;
        return received;
    }

    @Override
    public void wakeup() {
        if (!executor.isExecutorThread(Thread.currentThread())) {
            sleeper.wakeup();
        }
    }

    @Override
    public boolean isCompatible(Class<? extends IoHandle> handleType) {
        return RdmaRawIoHandle.class.isAssignableFrom(handleType)
                || nio.isCompatible(handleType) && nioRegistrations.admits(handleType)
                || epoll.isCompatible(handleType);
    }

    @Override
    public IoRegistration register(IoHandle handle) throws Exception {
        if (!(handle instanceof RdmaRawIoHandle)) {
            // NIO first: the other question loads Netty's epoll library.
            if (nio.isCompatible(handle.getClass())) {
                nioRegistrations.onRegistration(handle, statistics);
                return nio.register(handle);
            }
            if (epoll.isCompatible(handle.getClass())) {
                return epoll.register(handle);
            }
            throw new IllegalArgumentException("IoHandle of type " + StringUtil.simpleClassName(handle)
                    + " not supported");
        }
        Registration registration = new Registration(handle);
        registrations.add(registration);
        handle.registered();
        return registration;
    }

    int registrationCount() {
        return registrations.size();
    }

    IpContext ipContext() {
        if (ipContext == null) {
            ipContext = new IpContext(executor, config.maxUnresolvedPackets(), config.frameOrigin());
            statistics.ipContext(ipContext);
        }
        return ipContext;
    }

    /**
     * Returns the TCP stack of this loop. The first call opens it.
     *
     * @throws IOException if the device cannot be opened or does not support raw packets
     */
    TcpStack openTcpStack() throws IOException {
        if (tcpStack == null) {
            tcpStack = TcpStackFactory.open(config.device(), config.userspaceHostOrNull(), config.tcpOptions(), queues,
                    this::ipContext, executor);
            turn.setTcpStack(tcpStack);
        }
        return tcpStack;
    }

    /** Returns the pool of frame bursts for the channels of this loop. */
    FrameBurst.Pool burstPool() {
        return burstPool;
    }

    /** Returns the kernel sockets that this loop polls. */
    LoopDescriptors descriptors() {
        return descriptors;
    }

    RdmaRawIoHandlerConfig config() {
        return config;
    }

    /**
     * Returns this loop's queue on a device port. The first call opens it.
     *
     * @param portNumber number of the port, or {@link LoopQueues#OWN_PORT}
     * @throws SocketException if the device cannot be opened or does not support raw packets; its cause is the
     *         {@link VerbsException}
     */
    DeviceQueue openDeviceQueue(String deviceName, int portNumber) throws SocketException {
        return queues.open(deviceName, portNumber);
    }

    /** Selects the registered memory for buffers that are allocated on this thread: that of the queue opened last. */
    private void useRegisteredMemory() {
        RdmaRawByteBufAllocator.useOnThisThread(queues.all().isEmpty() ? null
                : queues.all().getLast().frameQueue().slots().allocator());
    }

    private void watchDescriptors() {
        List<DeviceQueue> open = queues.all();
        sleeper.watch(open.stream().mapToInt(deviceQueue -> deviceQueue.device().context().asyncFd()).toArray(),
                open.stream().mapToInt(deviceQueue -> deviceQueue.completionChannel().fd()).toArray(),
                descriptors.fd());
    }

    @Override
    public void prepareToDestroy() {
        if (!isClosing) {
            isClosing = true;
            receiveBeforeClosing();
        }
        for (Registration registration : List.copyOf(registrations)) {
            try {
                registration.handle.close();
            } catch (Exception e) {
                failures.add(e);
            }
        }
        nio.prepareToDestroy();
        epoll.prepareToDestroy();
    }

    /**
     * Receives what the channels of this loop have sent to each other. The kernel has such bytes in the receiver's
     * socket when write() returns; here they arrive in the next turns.
     */
    private void receiveBeforeClosing() {
        try {
            int turns = 0;
            while (turns < MAX_TURNS_BEFORE_CLOSING && turn.run() > 0) {
                turns++;
            }
        } catch (Throwable e) {
            failures.add(e);
        }
    }

    /**
     * Drives the loop until the peers of closed channels have acknowledged all data, or the drain timeout expires. The
     * kernel's TCP also delivers data after a program has closed its socket. Frames do not wake the loop here, so it
     * polls at short intervals.
     *
     * @param tasks runs the queued tasks of the loop, for example segments passed on by other loops
     */
    void drain(Runnable tasks) {
        prepareToDestroy();
        if (drainEndNanos == 0) {
            drainEndNanos = System.nanoTime() + config.drainTimeoutNanos();
        }
        while (tcpStack != null && tcpStack.hasUndeliveredOrphans() && System.nanoTime() - drainEndNanos < 0) {
            int served = 0;
            try {
                served = turn.run();
                tasks.run();
            } catch (Throwable e) {
                failures.add(e);
            }
            if (served == 0) {
                LockSupport.parkNanos(DRAIN_INTERVAL_NANOS);
            }
        }
    }

    @Override
    public void destroy() {
        // Netty does not always call prepareToDestroy, or calls it before the last task. If that task registers a
        // channel, the channel would never be closed and would retain its received frames. drain() closes such
        // channels.
        drain(() -> { });
        if (tcpStack != null) {
            tcpStack.close();
        }
        queues.close();
        RdmaRawMetrics.loopEnded(statistics);
        MetricsExporters.loopsChanged();
        queueOwner.queuesChanged();
        nio.destroy();
        epoll.destroy();
        sleeper.close();
        descriptors.close();
        if (ipContext != null) {
            ipContext.close();
        }
    }

    /** Follows the changes of the loop's queues. */
    private final class QueueOwner implements LoopQueues.Owner {
        @Override
        public void queuesChanged() {
            turn.setDeviceQueues(queues.all().toArray(DeviceQueue[]::new));
            useRegisteredMemory();
            watchDescriptors();
        }

        @Override
        public void queueRemoved(DeviceQueue removed) {
            if (tcpStack != null && tcpStack.deviceQueue() == removed) {
                // Connections of recently closed channels end here too. The next use opens a new stack.
                tcpStack.close();
                tcpStack = null;
                turn.setTcpStack(null);
            }
        }
    }

    /** The registration of a channel of this transport with this loop. */
    private final class Registration implements IoRegistration {
        private final IoHandle handle;
        private volatile boolean cancelled;

        Registration(IoHandle handle) {
            this.handle = handle;
        }

        @Override
        @SuppressWarnings("unchecked")
        public <T> T attachment() {
            return (T) RdmaRawIoHandler.this;
        }

        @Override
        public long submit(IoOps ops) {
            throw new UnsupportedOperationException("frames are sent through the channel's queue");
        }

        @Override
        public boolean isValid() {
            return !cancelled;
        }

        @Override
        public boolean cancel() {
            synchronized (this) {
                if (cancelled) {
                    return false;
                }
                cancelled = true;
            }
            if (executor.isExecutorThread(Thread.currentThread())) {
                remove();
            } else {
                executor.execute(this::remove);
            }
            return true;
        }

        private void remove() {
            if (registrations.remove(this)) {
                handle.unregistered();
            }
        }
    }
}
