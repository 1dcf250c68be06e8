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
import io.rdmaraw.device.DeviceQueue;
import io.rdmaraw.host.DeviceRequirements;
import io.rdmaraw.host.IpContext;
import io.rdmaraw.host.userspace.UserspaceHostStatistics;
import io.rdmaraw.loop.LoopDescriptors;
import io.rdmaraw.loop.LoopFailures;
import io.rdmaraw.loop.LoopService;
import io.rdmaraw.loop.LoopSleeper;
import io.rdmaraw.loop.NioLoop;
import io.rdmaraw.loop.SpinPolicy;
import io.rdmaraw.metrics.RdmaRawMetric;
import io.rdmaraw.metrics.RdmaRawMetrics;
import io.rdmaraw.metrics.internal.MetricsExporters;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.tcp.stack.TcpStack;
import io.rdmaraw.tcp.stack.TcpStackStatistics;
import io.rdmaraw.verbs.CompletionChannel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Drives the raw-packet queues of one event loop, and the ordinary NIO channels that are registered on it.
 *
 * <p>A loop polls its queues while there is work and for a set time after it, and then sleeps until a frame comes in, a
 * task is submitted, or a timer is due. Made by {@link #newFactory()} for a
 * {@link io.netty.channel.MultiThreadIoEventLoopGroup}.
 */
public final class RdmaRawIoHandler implements IoHandler {
    /** While there are frames to serve, the selector of the NIO channels is asked once in so many rounds. */
    private static final int NIO_INTERVAL = 16;
    /** And so are the kernel's sockets behind channels: a system call, which finds nothing as a rule. */
    private static final int DESCRIPTOR_INTERVAL = 64;
    /** Asynchronous events are rare, and asking for them is a system call. */
    private static final int ASYNC_EVENT_INTERVAL = 4096;

    private final ThreadAwareExecutor executor;
    private final RdmaRawIoHandlerConfig config;
    private final NioLoop nio;
    private final NioRegistrations nioRegistrations;
    private final LoopDescriptors descriptors = new LoopDescriptors(this::portsChanged);
    private final LoopSleeper sleeper;
    private final SpinPolicy spinPolicy;
    private static final Map<String, List<RdmaRawMetric>> CHANNEL_KINDS = Map.of(
            "channel", RdmaRawChannelStatistics.TABLE.metrics(),
            "datagram", RdmaRawDatagramStatistics.TABLE.metrics(),
            "host", UserspaceHostStatistics.TABLE.metrics(),
            "tcp", TcpStackStatistics.TABLE.metrics());

    private final FrameBurstPool burstPool = new FrameBurstPool();
    private final LoopFailures failures = new LoopFailures();
    private final LoopStatistics statistics = new LoopStatistics(failures);
    private IpContext hostView;
    private TcpStack tcp;
    /** Replaced as a whole: iterating an array needs no iterator. */
    private LoopService[] services = {};
    private final Set<Registration> registrations = new LinkedHashSet<>();
    private final List<DeviceQueue> ports = new ArrayList<>();
    /** The same as {@link #ports}; an array is iterated without an iterator. */
    private DeviceQueue[] polledPorts = {};
    private int nioCountdown;
    private int asyncCountdown;
    private int descriptorCountdown;

    private RdmaRawIoHandler(ThreadAwareExecutor executor, RdmaRawIoHandlerConfig config,
                             NioRegistrations nioRegistrations) {
        this.executor = executor;
        this.nioRegistrations = nioRegistrations;
        this.config = config;
        spinPolicy = new SpinPolicy(config.spinNanos(), new SplittableRandom());
        nio = new NioLoop(executor);
        sleeper = new LoopSleeper(nio);
    }

    /** Returns a factory with the default settings. */
    public static IoHandlerFactory newFactory() {
        return newFactory(RdmaRawIoHandlerConfig.defaults());
    }

    /**
     * Returns a factory for a group's loops.
     *
     * @throws UnsatisfiedLinkError when the transport cannot work here at all; see {@link
     *        RdmaRaw#unavailabilityCause()}
     */
    public static IoHandlerFactory newFactory(RdmaRawIoHandlerConfig config) {
        ObjectUtil.checkNotNull(config, "config");
        RdmaRaw.ensureAvailability();
        NioRegistrations registrations = new NioRegistrations(config.nioChannels());
        return new IoHandlerFactory() {
            @Override
            public IoHandler newHandler(ThreadAwareExecutor loop) {
                return new RdmaRawIoHandler(loop, config, registrations);
            }

            @Override
            public boolean isChangingThreadSupported() {
                return true;
            }
        };
    }

    @Override
    public void initialize() {
        Thread thread = Thread.currentThread();
        burstPool.ownedBy(thread);
        for (DeviceQueue port : polledPorts) {
            port.queue().slots().ownedBy(thread);
        }
        useRegisteredMemory();
        MetricsExporters.ensureStarted();
        RdmaRawMetrics.loopStarted(statistics, thread.getName(), statistics::name);
        nio.initialize();
    }

    @Override
    public int run(IoHandlerContext context) {
        statistics.rounds++;
        try {
            boolean report = context.shouldReportActiveIoTime();
            long startNanos = report ? System.nanoTime() : 0;
            int served = serve(context);
            if (served == 0 && context.canBlock()) {
                served = waitForWork(context);
                // Time spent waiting is not active.
                startNanos = report ? System.nanoTime() : 0;
                if (served == 0) {
                    served = serve(context);
                }
            }
            if (report && served > 0) {
                context.reportActiveIoTime(System.nanoTime() - startNanos);
            }
            return served;
        } catch (RuntimeException | OutOfMemoryError e) {
            // Netty ends a loop whose handler throws, and with it every channel on it.
            failures.add(e);
            return 0;
        }
    }

    /** One round over everything without blocking; returns how many queues and channels had work. */
    private int serve(IoHandlerContext context) {
        int served = pollPorts();
        served += runServices();
        // A loop about to wait looks at its selector there: in bursts that follow one another it never gets so far.
        if (nio.hasHandles() && (nio.holdsClosed() || served == 0 && !context.canBlock() || --nioCountdown <= 0)) {
            nioCountdown = NIO_INTERVAL;
            served += nio.runNow(context);
        }
        if (!descriptors.isEmpty() && --descriptorCountdown <= 0) {
            descriptorCountdown = DESCRIPTOR_INTERVAL;
            served += descriptors.poll();
        }
        if (--asyncCountdown <= 0) {
            asyncCountdown = ASYNC_EVENT_INTERVAL;
            dispatchAsyncEvents();
        }
        return served;
    }

    private int pollPorts() {
        int served = 0;
        for (DeviceQueue port : polledPorts) {
            if (port.poll() > 0) {
                served++;
            }
        }
        return served;
    }

    private int runServices() {
        int served = 0;
        for (LoopService service : services) {
            if (service.run()) {
                served++;
            }
        }
        return served;
    }

    private void dispatchAsyncEvents() {
        for (DeviceQueue port : polledPorts) {
            port.device().dispatchAsyncEvents();
        }
    }

    /**
     * Spins, then sleeps; returns how many queues had work, 0 when something else ended the wait. The services have
     * seen that work then; after a sleep the round that follows does all there is to do.
     */
    private int waitForWork(IoHandlerContext context) {
        int served = spin(context);
        if (served > 0 || sleeper.isWoken() || !context.canBlock()) {
            sleeper.clearWoken();
        } else {
            for (DeviceQueue port : polledPorts) {
                port.arm();
            }
            // What came in before the arming raises no event.
            served = pollPorts();
            if (served == 0) {
                sleep(context);
            }
        }
        if (served > 0) {
            runServices();
        }
        return served;
    }

    private void sleep(IoHandlerContext context) {
        long startNanos = System.nanoTime();
        statistics.fallsAsleep(startNanos);
        try {
            sleeper.sleep(context, startNanos, nextDeadlineNanos());
        } finally {
            statistics.wakesUp();
        }
        if (sleeper.isAsyncReady()) {
            dispatchAsyncEvents();
        }
        if (sleeper.isDescriptorReady()) {
            descriptorCountdown = 0;
        }
        if (sleeper.isPortReady()) {
            takeEvents();
        }
    }

    private void takeEvents() {
        for (DeviceQueue port : polledPorts) {
            port.takeEvent();
        }
    }

    private int spin(IoHandlerContext context) {
        if (config.spinNanos() == 0 || polledPorts.length == 0 || !spinPolicy.isWorthwhile()) {
            return 0;
        }
        long startNanos = System.nanoTime();
        // The last time read; the clock is not asked once more for the statistics' sake when a frame is there.
        long nowNanos = startNanos;
        long deadlineNanos = nextDeadlineNanos();
        int served;
        do {
            Thread.onSpinWait();
            served = pollPorts();
        } while (served == 0 && !sleeper.isWoken() && context.canBlock()
                && (nowNanos = System.nanoTime()) - startNanos < config.spinNanos() && nowNanos < deadlineNanos);
        if (served > 0 || nowNanos - startNanos >= config.spinNanos()) {
            spinPolicy.ended(served > 0, nowNanos - startNanos);
        }
        statistics.spins++;
        statistics.spinNanos += nowNanos - startNanos;
        return served;
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
                || nio.isCompatible(handleType) && nioRegistrations.admits(handleType);
    }

    @Override
    public IoRegistration register(IoHandle handle) throws Exception {
        if (!(handle instanceof RdmaRawIoHandle)) {
            if (!nio.isCompatible(handle.getClass())) {
                throw new IllegalArgumentException("IoHandle of type " + StringUtil.simpleClassName(handle)
                        + " not supported");
            }
            nioRegistrations.arrived(handle, statistics);
            return nio.register(handle);
        }
        Registration registration = new Registration(handle);
        registrations.add(registration);
        handle.registered();
        return registration;
    }

    /** Returns the number of channels of this transport on the loop. */
    int registrationCount() {
        return registrations.size();
    }

    IpContext hostView() {
        if (hostView == null) {
            hostView = new IpContext(executor, config.maxUnresolvedPackets(), config.frameOrigin());
            statistics.hostView(hostView);
        }
        return hostView;
    }

    /** When the loop has to look at its timers, apart from Netty's. */
    private long nextDeadlineNanos() {
        long earliest = Long.MAX_VALUE;
        for (LoopService service : services) {
            earliest = Math.min(earliest, service.nextDeadlineNanos());
        }
        return earliest;
    }

    /**
     * Returns this loop's TCP, made on first use.
     *
     * @throws io.rdmaraw.verbs.VerbsException when the device cannot be opened or does not carry raw packets
     */
    TcpStack tcp() {
        if (tcp == null) {
            tcp = TcpStackFactory.open(this, executor);
            services = Stream.concat(Arrays.stream(services), Stream.of(tcp)).toArray(LoopService[]::new);
        }
        return tcp;
    }

    /** Returns where the loop's channels get their bursts from. */
    FrameBurstPool burstPool() {
        return burstPool;
    }

    /** Returns the kernel's sockets that the loop serves. */
    LoopDescriptors descriptors() {
        return descriptors;
    }

    RdmaRawIoHandlerConfig config() {
        return config;
    }

    /**
     * Returns this loop's queue on a port, opened on first use.
     *
     * @throws io.rdmaraw.verbs.VerbsException when the device cannot be opened or does not carry raw packets
     */
    DeviceQueue port(String deviceName, int portNumber) {
        for (DeviceQueue port : polledPorts) {
            if (port.portNumber() == portNumber && port.device().name().equals(deviceName)) {
                return port;
            }
        }
        DeviceQueue opened = open(deviceName, portNumber);
        ports.add(opened);
        statistics.add(opened.statistics());
        portsChanged();
        return opened;
    }

    private DeviceQueue open(String deviceName, int portNumber) {
        SharedDevice device = null;
        CompletionChannel channel = null;
        try {
            device = SharedDevice.acquire(deviceName);
            device.checkPort(portNumber);
            channel = device.context().createCompletionChannel();
            return new DeviceQueue(device, portNumber, channel, executor, config.queueOptions(), CHANNEL_KINDS,
                    failures::add, this::closeGone);
        } catch (RuntimeException e) {
            if (channel != null) {
                channel.close();
            }
            if (device != null) {
                device.release();
            }
            throw DeviceRequirements.explained(e, deviceName);
        }
    }

    private void closeGone(DeviceQueue port) {
        if (tcp != null && tcp.port() == port) {
            // What a channel that has just closed may have asked for ends too; the next use opens TCP anew.
            tcp.close();
            tcp = null;
        }
        services = Arrays.stream(services).filter(service -> !service.isOver()).toArray(LoopService[]::new);
        ports.remove(port);
        statistics.remove(port.statistics());
        portsChanged();
        port.close();
    }

    /** Buffers allocated on the loop's thread come from the queue that was opened last. */
    private void useRegisteredMemory() {
        RdmaRawByteBufAllocator.useOnThisThread(ports.isEmpty() ? null
                : ports.getLast().queue().slots().allocator());
    }

    private void portsChanged() {
        polledPorts = ports.toArray(DeviceQueue[]::new);
        useRegisteredMemory();
        watchDescriptors();
    }

    private void watchDescriptors() {
        sleeper.watch(ports.stream().mapToInt(port -> port.device().context().asyncFd()).toArray(),
                ports.stream().mapToInt(port -> port.completionChannel().fd()).toArray(), descriptors.fd());
    }

    @Override
    public void prepareToDestroy() {
        for (Registration registration : List.copyOf(registrations)) {
            try {
                registration.handle.close();
            } catch (Exception e) {
                failures.add(e);
            }
        }
        nio.prepareToDestroy();
    }

    @Override
    public void destroy() {
        // Netty has not always done so, nor after the last task, which may have been the registration of a channel: it
        // would never hear of the loop's end, and keep what it has received.
        prepareToDestroy();
        for (LoopService service : services) {
            service.close();
        }
        for (DeviceQueue port : polledPorts) {
            statistics.remove(port.statistics());
            closeWithoutStopping(port);
        }
        RdmaRawMetrics.loopEnded(statistics);
        ports.clear();
        portsChanged();
        nio.destroy();
        sleeper.close();
        descriptors.close();
        if (hostView != null) {
            hostView.close();
        }
    }

    /** A device that fails to let go of one queue must not keep the loop from ending with the others. */
    private void closeWithoutStopping(DeviceQueue port) {
        try {
            port.close();
        } catch (RuntimeException e) {
            failures.add(e);
        }
    }

    /** A channel of this transport on this loop. */
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
                removed();
            } else {
                executor.execute(this::removed);
            }
            return true;
        }

        private void removed() {
            if (registrations.remove(this)) {
                handle.unregistered();
            }
        }
    }
}
