package io.rdmaraw.testsuite.contract;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.AbstractChannel;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.ServerChannel;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.DuplexChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.Future;
import io.rdmaraw.testsuite.contract.Step.Numbered;

import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** One execution of a program on one transport. */
final class ProgramRun {
    private static final InetAddress LOCALHOST = InetAddress.ofLiteral("127.0.0.1");
    private static final WriteBufferWaterMark[] WATERMARKS = {null, new WriteBufferWaterMark(0, 1),
        new WriteBufferWaterMark(100, 1000), new WriteBufferWaterMark(4096, 8192)};
    private static final ByteBufAllocator POOLED_HEAP = new PooledByteBufAllocator(false);
    private static final ByteBufAllocator ADAPTIVE = new AdaptiveByteBufAllocator(true);
    private static final long MAX_WAIT_NANOS = 10_000_000_000L;
    private static final long PAUSE_NANOS = 20_000;
    private static final int SPINS = 200;

    final Program program;
    final Groups groups;
    private final long quietNanos;
    private final SortedMap<String, String> seen = new ConcurrentSkipListMap<>();
    private final AtomicLong progress = new AtomicLong();
    private final List<Endpoint> clients = new ArrayList<>();
    private final List<Endpoint> accepted = new ArrayList<>();
    private final List<Endpoint> datagrams = new ArrayList<>();
    private final ConcurrentLinkedQueue<Endpoint> justAccepted = new ConcurrentLinkedQueue<>();
    final List<Channel> extras = new CopyOnWriteArrayList<>();
    /** The futures of calls that change a channel's state. */
    final List<Future<?>> calls = new CopyOnWriteArrayList<>();
    final List<File> files = new CopyOnWriteArrayList<>();
    final Map<Integer, WriteRecord> sent = new ConcurrentSkipListMap<>();
    private final Map<Object, WriteRecord> records = new IdentityHashMap<>();
    private final Map<Endpoint, ConcurrentLinkedQueue<WriteRecord>> broadcasts = new HashMap<>();
    /** The loops of the channels that steps of other threads have used since the last wait. */
    private final Set<EventLoop> used = ConcurrentHashMap.newKeySet();
    private final List<Runnable> endings = new ArrayList<>();
    private Endpoint server;
    volatile boolean ending;
    volatile boolean endsGroup;

    ProgramRun(Program program, Groups groups, long quietNanos) {
        this.program = program;
        this.groups = groups;
        this.quietNanos = quietNanos;
    }

    /** Runs the program and returns its observations. */
    SortedMap<String, String> run() {
        try {
            open();
            performSettled(program.steps());
            settle();
            for (Endpoint each : ends()) {
                observeState(each, "");
                if (program.has(LoopSteps.Suspend.class)) {
                    // The end of the run resumes suspended loops, which may send the bytes that are missing now.
                    each.observeReceived();
                }
            }
        } catch (Throwable failure) {
            observe("program", Failures.name(failure) + ' ' + failure.getMessage());
        } finally {
            new Ending(this).run();
        }
        return new TreeMap<>(seen);
    }

    private void open() throws Exception {
        EventLoopGroup serverGroup = serverGroup();
        server = new Endpoint(this, "server", 0);
        ServerBootstrap bootstrap = new ServerBootstrap().group(serverGroup).channel(serverClass())
                .handler(server).childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel child) {
                        Endpoint end = new Endpoint(ProgramRun.this, "accepted" + justAccepted.size(),
                                program.get(Choice.ECHO));
                        child.pipeline().addLast(end);
                        justAccepted.add(end);
                        progressed();
                    }
                });
        options(bootstrap);
        Channel listening = bootstrap.bind(new InetSocketAddress(LOCALHOST, 0)).sync().channel();
        for (int i = 0; i < program.connections(); i++) {
            connectPair(i, listening);
        }
        if (program.is(Choice.DATAGRAMS)) {
            for (int i = 0; i < 2; i++) {
                Endpoint end = new Endpoint(this, "datagrams" + i, 0);
                new Bootstrap().group(datagramGroup(i))
                        .channel(groups.transport.datagram()).handler(end)
                        .bind(new InetSocketAddress(LOCALHOST, 0)).sync();
                awaitLong(() -> end.port != 0);
                datagrams.add(end);
            }
        }
    }

    /**
     * Returns the group of a datagram channel. Channel 0 shares the loop of the first accepted channel, unless that is
     * an NIO loop.
     */
    private EventLoopGroup datagramGroup(int index) {
        return index == 1 || together() || program.get(Choice.KERNEL) == 2 ? groups.clients()
                : accepted.getFirst().channel.eventLoop();
    }

    private boolean together() {
        return program.is(Choice.TOGETHER);
    }

    EventLoopGroup serverGroup() {
        return switch (program.get(Choice.KERNEL)) {
            case 1 -> groups.kernel();
            case 2 -> groups.nio();
            default -> together() ? groups.clients() : groups.servers();
        };
    }

    EventLoopGroup clientGroup() {
        return switch (program.get(Choice.KERNEL)) {
            case 1 -> groups.nio();
            case 2 -> groups.kernel();
            default -> groups.clients();
        };
    }

    Class<? extends ServerChannel> serverClass() {
        return program.get(Choice.KERNEL) == 2 ? NioServerSocketChannel.class : groups.transport.server();
    }

    Bootstrap client(Endpoint end) {
        Bootstrap bootstrap = new Bootstrap().group(clientGroup()).channel(program.get(Choice.KERNEL) == 1
                ? NioSocketChannel.class : groups.transport.client()).handler(end);
        if ((program.get(Choice.HALF_CLOSURE) & 2) != 0) {
            bootstrap.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
        }
        if (allocator() != null) {
            bootstrap.option(ChannelOption.ALLOCATOR, allocator());
        }
        if (program.is(Choice.WATERMARKS)) {
            bootstrap.option(ChannelOption.WRITE_BUFFER_WATER_MARK, WATERMARKS[program.get(Choice.WATERMARKS)]);
        }
        if (program.is(Choice.LINGER)) {
            bootstrap.option(ChannelOption.SO_LINGER, 0);
        }
        return bootstrap;
    }

    private void connectPair(int index, Channel listening) throws InterruptedException {
        Endpoint end = new Endpoint(this, "client" + index, 0);
        client(end).connect(listening.localAddress()).sync();
        // A program without its connections compares nothing. New loops on a busy machine need more than a short wait.
        if (!awaitLong(() -> justAccepted.size() > index)) {
            throw new IllegalStateException("connection " + index + " was not accepted");
        }
        Endpoint other = justAccepted.stream().skip(index).findFirst().orElseThrow();
        end.peer = other;
        other.peer = end;
        awaitLong(() -> end.logged().contains("active") && other.logged().contains("active"));
        clients.add(end);
        accepted.add(other);
    }

    private void options(ServerBootstrap bootstrap) {
        if ((program.get(Choice.HALF_CLOSURE) & 1) != 0) {
            bootstrap.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
        }
        if (program.is(Choice.PAUSED)) {
            bootstrap.childOption(ChannelOption.AUTO_READ, false);
        }
        RecvByteBufAllocator receive = ReceiveAllocators.create(program.get(Choice.RECEIVE));
        if (receive != null) {
            bootstrap.childOption(ChannelOption.RECVBUF_ALLOCATOR, receive);
        }
        if (program.is(Choice.WATERMARKS)) {
            bootstrap.childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATERMARKS[program.get(Choice.WATERMARKS)]);
        }
        if (allocator() != null) {
            bootstrap.childOption(ChannelOption.ALLOCATOR, allocator());
        }
        if (program.is(Choice.NO_AUTO_CLOSE)) {
            autoCloseOff(bootstrap);
        }
    }

    @SuppressWarnings("deprecation") // users may still disable it
    private static void autoCloseOff(ServerBootstrap bootstrap) {
        bootstrap.childOption(ChannelOption.AUTO_CLOSE, false);
    }

    private ByteBufAllocator allocator() {
        return switch (program.get(Choice.ALLOCATOR)) {
            case 1 -> PooledByteBufAllocator.DEFAULT;
            case 2 -> UnpooledByteBufAllocator.DEFAULT;
            case 3 -> ADAPTIVE;
            case 4 -> POOLED_HEAP;
            default -> null;
        };
    }

    /** Performs the main steps. Waits for the data of each step, unless one of the next two steps ends the loop. */
    private void performSettled(List<Numbered> steps) {
        for (int i = 0; i < steps.size(); i++) {
            try {
                perform(steps.subList(i, i + 1));
            } catch (ProgramException | ProgramError thrown) {
                observe("step" + steps.get(i).id() + ".thrown", Failures.name(thrown));
            }
            boolean ends = i + 1 < steps.size() && (steps.get(i + 1).step() instanceof LoopSteps.EndGroup
                    || steps.get(i + 1).step() instanceof LoopSteps.Suspend
                    || i + 2 < steps.size() && steps.get(i + 2).step() instanceof LoopSteps.EndGroup
                    || i + 2 < steps.size() && steps.get(i + 2).step() instanceof LoopSteps.Suspend);
            if (!program.is(Choice.CONCURRENT) && !ends) {
                settle();
            }
        }
    }

    /**
     * Performs steps on the calling thread. Failures are recorded as results; exceptions thrown by the program
     * propagate.
     */
    void perform(List<Numbered> steps) {
        for (Numbered each : steps) {
            try {
                each.step().run(this, each.id());
            } catch (ProgramException | ProgramError thrown) {
                throw thrown;
            } catch (Throwable failure) {
                observe("step" + each.id() + ".failure", Failures.name(failure));
            }
        }
    }

    /** Returns a channel's handler by its number, or null if the program has no such channel. */
    Endpoint end(int number) {
        Endpoint end = find(number);
        if (end != null && end.loop != null && !Nesting.isInside()) {
            used.add(end.loop);
        }
        return end;
    }

    private Endpoint find(int number) {
        if (number == Program.SERVER) {
            return server;
        }
        if (number >= Program.DATAGRAM) {
            int index = number - Program.DATAGRAM;
            return index < datagrams.size() ? datagrams.get(index) : null;
        }
        List<Endpoint> side = number % 2 == 0 ? clients : accepted;
        return number / 2 < side.size() ? side.get(number / 2) : null;
    }

    List<Endpoint> ends() {
        List<Endpoint> all = new ArrayList<>(clients);
        all.addAll(accepted);
        all.addAll(datagrams);
        if (server != null) {
            all.add(server);
        }
        return all;
    }

    List<Endpoint> clients() {
        return clients;
    }

    int acceptedCount() {
        return justAccepted.size();
    }

    List<Endpoint> allAccepted() {
        return List.copyOf(justAccepted);
    }

    void observe(String key, String value) {
        seen.put(key, value);
        progressed();
    }

    /** Records a fact that may be observed several times. */
    void observeAlso(String key, String value) {
        seen.merge(key, value, (a, b) -> a.contains(b) ? a : a + ", " + b);
        progressed();
    }

    void progressed() {
        progress.incrementAndGet();
    }

    /** Registers the content of a message before it is written. */
    WriteRecord record(Object message, int id, int length) {
        WriteRecord record = new WriteRecord(id, length);
        synchronized (records) {
            records.put(message, record);
            sent.put(id, record);
        }
        return record;
    }

    /** Registers a message that a channel group passes to an end as a duplicate. */
    WriteRecord recordBroadcast(Endpoint end, int id, int length) {
        WriteRecord record = new WriteRecord(id, length);
        synchronized (records) {
            broadcasts.computeIfAbsent(end, any -> new ConcurrentLinkedQueue<>()).add(record);
        }
        return record;
    }

    WriteRecord recordOf(Object message, Endpoint end) {
        synchronized (records) {
            WriteRecord record = records.remove(message);
            ConcurrentLinkedQueue<WriteRecord> queue = broadcasts.get(end);
            return record != null || queue == null ? record : queue.poll();
        }
    }

    /** Returns whether the promises of all writes so far have completed. */
    boolean isSent() {
        synchronized (records) {
            return sent.values().stream().allMatch(WriteRecord::isDone);
        }
    }

    void atEnd(Runnable action) {
        synchronized (endings) {
            endings.add(action);
        }
    }

    List<Runnable> takeEndings() {
        synchronized (endings) {
            List<Runnable> taken = List.copyOf(endings);
            endings.clear();
            return taken;
        }
    }

    /** Waits until all sent data has arrived where it can arrive. */
    boolean settle() {
        awaitTasks();
        return await(() -> calls.stream().allMatch(Future::isDone) && clients.stream().allMatch(Endpoint::isSettled)
                && accepted.stream().allMatch(Endpoint::isSettled)
                && datagrams.stream().allMatch(Endpoint::isSettled));
    }

    /**
     * Waits until the loops of the channels that steps have used since have run their tasks. A write of another thread
     * is such a task: before it has run, nothing shows that data is on its way. Other loops get no task, because it
     * would wake them. A handler or a task must not wait for its own loop.
     */
    private void awaitTasks() {
        if (Nesting.isInside()) {
            return;
        }
        List<EventLoop> loops = List.copyOf(used);
        loops.forEach(used::remove);
        AtomicInteger left = new AtomicInteger(loops.size());
        for (EventLoop loop : loops) {
            // A loop with channels is never suspended, although it is marked so.
            if (loop instanceof SingleThreadIoEventLoop single && single.isSuspended()
                    && single.registeredChannels() == 0) {
                left.decrementAndGet();
                continue;
            }
            try {
                loop.execute(left::decrementAndGet);
            } catch (RejectedExecutionException ended) {
                left.decrementAndGet();
            }
        }
        await(() -> left.get() == 0);
    }

    /** Excludes a loop from the next wait for tasks, because a task would resume it. */
    void leavesSuspended(EventLoop loop) {
        used.remove(loop);
    }

    /** Waits for a condition as long as there is progress, and for a short time after the last progress. */
    boolean await(BooleanSupplier holds) {
        return await(holds, 1);
    }

    boolean await(BooleanSupplier holds, int patience) {
        long began = System.nanoTime();
        long changed = began;
        long last = progress.get();
        for (int turn = 0; !holds.getAsBoolean(); turn++) {
            long now = System.nanoTime();
            long current = progress.get();
            if (current != last) {
                last = current;
                changed = now;
            } else if (now - changed > quietNanos * patience) {
                return holds.getAsBoolean();
            }
            if (now - began > MAX_WAIT_NANOS) {
                return false;
            }
            if (turn < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        return true;
    }

    /** Waits for a condition without progress reports, such as the end of a group. */
    boolean awaitLong(BooleanSupplier holds) {
        long began = System.nanoTime();
        while (!holds.getAsBoolean() && System.nanoTime() - began < MAX_WAIT_NANOS) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return holds.getAsBoolean();
    }

    boolean await(ChannelFuture future) {
        return await(future::isDone);
    }

    /** Records the state that a channel's methods report. */
    void observeState(Endpoint end, String suffix) {
        Channel channel = end.channel;
        observe(end.name + ".state" + suffix, state(channel));
        observe(end.name + ".shutdowns" + suffix, shutdowns(channel));
        observe(end.name + ".addresses" + suffix, addresses(channel));
    }

    /** Returns the states of a channel that are true. */
    static String state(Channel channel) {
        if (channel == null) {
            return "none";
        }
        StringBuilder text = new StringBuilder();
        word(text, "open", channel.isOpen());
        word(text, "active", channel.isActive());
        word(text, "registered", channel.isRegistered());
        word(text, "writable", channel.isWritable());
        return text.toString().strip();
    }

    private static String shutdowns(Channel channel) {
        StringBuilder text = new StringBuilder();
        if (channel instanceof DuplexChannel duplex) {
            word(text, "inputShutdown", duplex.isInputShutdown());
            word(text, "outputShutdown", duplex.isOutputShutdown());
            word(text, "shutdown", duplex.isShutdown());
        }
        return text.toString().strip();
    }

    /** Returns the addresses of a channel that are known. */
    static String addresses(Channel channel) {
        if (channel == null) {
            return "none";
        }
        StringBuilder text = new StringBuilder();
        word(text, "local", channel.localAddress() instanceof InetSocketAddress local && local.getPort() != 0);
        word(text, "remote", channel.remoteAddress() instanceof InetSocketAddress remote && remote.getPort() != 0);
        return text.toString().strip();
    }

    /** Returns an option of a socket, or the exception that the channel throws because it is closed. */
    static String option(Channel channel) {
        try {
            return channel == null ? "none" : String.valueOf(channel.config().getOption(ChannelOption.SO_REUSEADDR));
        } catch (RuntimeException e) {
            return Failures.name(e);
        }
    }

    private static void word(StringBuilder text, String name, boolean holds) {
        if (holds) {
            text.append(name).append(' ');
        }
    }

    static boolean isRegisteredOrOpen(Channel channel) {
        return channel.isOpen() || channel instanceof AbstractChannel && channel.isRegistered();
    }
}
