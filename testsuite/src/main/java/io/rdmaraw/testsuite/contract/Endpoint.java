package io.rdmaraw.testsuite.contract;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.ReferenceCountUtil;
import io.rdmaraw.testsuite.contract.Step.Numbered;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;

/** The handler of a channel. It records everything that an application can observe, and runs the program's hooks. */
final class Endpoint extends ChannelDuplexHandler {
    /** An event that triggers a hook. */
    enum On { ACTIVE, READ, READ_COMPLETE, WRITABILITY, INPUT_SHUTDOWN, INACTIVE }

    private static final int FIRST_BYTES = 4096;

    final ProgramRun run;
    final String name;
    final int echo;
    volatile Channel channel;
    volatile Endpoint peer;
    private final List<WriteRecord> writes = new ArrayList<>();
    private final StringBuilder log = new StringBuilder();
    private final Map<On, List<Numbered>> hooks = new EnumMap<>(On.class);
    private final Set<String> forms = new TreeSet<>();
    private final Set<String> datagrams = new TreeSet<>();
    private byte[] received = new byte[FIRST_BYTES];
    private volatile int receivedBytes;
    private volatile int flushedBytes;
    private int flushedWrites;
    private int largest;
    /** The local port, known once the channel has been active. */
    volatile int port;
    /** The number of datagrams that were sent to this channel. */
    final AtomicInteger due = new AtomicInteger();
    private volatile boolean inputEnded;
    private volatile boolean writabilityChanged;
    private volatile boolean unregistered;
    /** The channel's loop, which remains known after the channel has been deregistered. */
    volatile EventLoop loop;
    /** The next received message, kept for a step if {@link #shares} is set. */
    private volatile ByteBuf shared;
    volatile boolean shares;

    Endpoint(ProgramRun run, String name, int echo) {
        this.run = run;
        this.name = name;
        this.echo = echo;
    }

    void hook(On event, List<Numbered> steps) {
        synchronized (hooks) {
            hooks.put(event, steps);
        }
    }

    /** Appends a word to the channel's sequence of events. */
    void log(String word) {
        synchronized (log) {
            log.append(word).append(' ');
        }
        run.progressed();
    }

    /** Runs a handler's event: records nested reads, applies the effect, and runs the hook. */
    private void event(String word, On hook, boolean read, Runnable effect) {
        Object enclosing = Nesting.enter(this);
        try {
            if (!channel.eventLoop().inEventLoop()) {
                run.observe("thread", name + ' ' + word + " outside of its loop");
            }
            if (read && enclosing != null) {
                run.observe("nesting." + kind(), enclosing == this ? "a read inside a handler of the same channel"
                        : "a read inside a task or another channel's handler");
            }
            log(word);
            effect.run();
            List<Numbered> steps = null;
            if (hook != null) {
                synchronized (hooks) {
                    steps = hooks.remove(hook);
                }
            }
            if (steps != null) {
                run.perform(steps);
            }
        } finally {
            Nesting.exit();
        }
    }

    private String kind() {
        return isDatagram() ? "datagrams" : "stream";
    }

    private boolean isDatagram() {
        return name.startsWith("datagrams");
    }

    private static final Runnable NONE = () -> { };

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        channel = ctx.channel();
        channel.closeFuture().addListener(closed -> log("closed"));
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        log("removed");
    }

    @Override
    public void channelRegistered(ChannelHandlerContext ctx) {
        unregistered = false;
        loop = channel.eventLoop();
        event("registered", null, false, NONE);
        ctx.fireChannelRegistered();
    }

    @Override
    public void channelUnregistered(ChannelHandlerContext ctx) {
        event("unregistered", null, false, NONE);
        unregistered = true;
        run.progressed();
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        try {
            port = channel.localAddress() instanceof InetSocketAddress address ? address.getPort() : 0;
            event("active", On.ACTIVE, false, NONE);
        } finally {
            ctx.fireChannelActive();
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        event("inactive", On.INACTIVE, false, () -> inputEnded = true);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
        boolean kept = false;
        try {
            if (msg instanceof ByteBuf bytes) {
                boolean shares = this.shares && shared == null;
                kept = echo > 0 || shares;
                event("r", On.READ, true, () -> {
                    receive(bytes);
                    if (shares) {
                        shared = bytes;
                    } else if (echo > 0) {
                        ctx.write(bytes);
                    }
                    if (echo == 2) {
                        ctx.flush();
                    }
                });
            } else if (msg instanceof DatagramPacket packet) {
                event("r", On.READ, true, () -> receive(packet));
            } else {
                event("accept", On.READ, false, NONE);
                kept = true;
                ctx.fireChannelRead(msg);
            }
        } finally {
            if (!kept) {
                ReferenceCountUtil.release(msg);
            }
        }
    }

    private void receive(ByteBuf bytes) {
        int length = bytes.readableBytes();
        largest = Math.max(largest, length);
        if (length > 0) {
            forms.add((bytes.isDirect() ? "direct" : "heap") + (bytes.nioBufferCount() == 1 ? "" : " in parts")
                    + (bytes.refCnt() == 1 ? "" : " shared"));
        } else {
            forms.add("empty");
        }
        synchronized (writes) {
            if (received.length < receivedBytes + length) {
                received = Arrays.copyOf(received, Math.max(received.length * 2, receivedBytes + length));
            }
            bytes.getBytes(bytes.readerIndex(), received, receivedBytes, length);
        }
        receivedBytes += length;
    }

    private void receive(DatagramPacket packet) {
        ByteBuf content = packet.content();
        byte[] bytes = new byte[content.readableBytes()];
        content.getBytes(content.readerIndex(), bytes);
        String text = DatagramSteps.name(bytes);
        boolean known = packet.sender() != null && packet.sender().getPort() != 0
                && (packet.recipient() == null || packet.recipient().getPort() == port);
        synchronized (datagrams) {
            datagrams.add(text + (known ? "" : " with wrong addresses"));
        }
        receivedBytes++;
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        event("c", On.READ_COMPLETE, true, () -> {
            if (echo == 1) {
                ctx.flush();
            }
        });
        ctx.fireChannelReadComplete();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event == ChannelInputShutdownEvent.INSTANCE) {
            event("inputShutdown", On.INPUT_SHUTDOWN, false, () -> inputEnded = true);
        } else if (event == ChannelInputShutdownReadComplete.INSTANCE) {
            event("inputShutdownReadComplete", null, false, NONE);
        } else {
            event(event instanceof String ? "user:" + event : event.getClass().getSimpleName(), null, false, NONE);
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        event("", On.WRITABILITY, false, () -> writabilityChanged = true);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        event("!" + Failures.name(cause), null, false, NONE);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
        WriteRecord record = run.recordOf(msg, this);
        if (record != null) {
            synchronized (writes) {
                writes.add(record);
            }
        }
        ctx.write(msg, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
        synchronized (writes) {
            for (; flushedWrites < writes.size(); flushedWrites++) {
                flushedBytes += writes.get(flushedWrites).length;
            }
        }
        ctx.flush();
    }

    int receivedBytes() {
        return receivedBytes;
    }

    /** Returns whether the channel is open and reads, so that more bytes can arrive. */
    boolean reads() {
        Channel now = channel;
        return now != null && now.isOpen() && now.config().isAutoRead() && !inputEnded && now.isRegistered();
    }

    boolean isGone() {
        Channel now = channel;
        return now == null || !now.isOpen() && unregistered;
    }

    /** Returns the message that was kept, or null. */
    ByteBuf shared() {
        return shared;
    }

    /** Returns whether everything that the peer has flushed has arrived. */
    boolean hasReceivedAll() {
        Endpoint from = peer;
        return from == null || receivedBytes >= (from.echo > 0 ? flushedBytes : from.flushedBytes);
    }

    private boolean endsOutput() {
        return !channel.isOpen() || channel instanceof DuplexChannel duplex && duplex.isOutputShutdown();
    }

    /** Returns whether this end has received everything that its peer has sent so far. */
    boolean isSettled() {
        if (channel == null) {
            return true;
        }
        if (!channel.isOpen()) {
            return unregistered;
        }
        Endpoint from = peer;
        if (isDatagram()) {
            return !reads() || receivedBytes >= due.get() && writesDone();
        }
        if (from == null || from.channel == null || !reads()) {
            return true;
        }
        int bytesDue = from.echo > 0 ? flushedBytes : from.flushedBytes;
        return receivedBytes >= bytesDue && !from.endsOutput() && writesDone();
    }

    private boolean writesDone() {
        if (peer != null && !peer.reads()) {
            return true;
        }
        synchronized (writes) {
            for (int i = 0; i < flushedWrites; i++) {
                if (!writes.get(i).isDone()) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Reports everything that this end has observed. */
    void report(int limit) {
        run.observe(name + ".events", EventLog.normalise(logged()));
        if (isDatagram()) {
            synchronized (datagrams) {
                run.observe(name + ".received", String.join(", ", datagrams));
            }
            return;
        }
        observeReceived();
        run.observe(name + ".lengths", largest <= limit ? "within the limit" : "over the limit");
        run.observe(name + ".forms", String.join("+", forms));
        run.observe(name + ".writability", writabilityChanged ? "changed" : "unchanged");
    }

    /** Compares the bytes of a stream that have been received so far with the writes. */
    void observeReceived() {
        if (peer != null) {
            Endpoint source = peer.echo > 0 ? this : peer;
            synchronized (writes) {
                run.observeAlso(name + ".received", Content.compare(source.writes(), received, receivedBytes));
            }
        }
    }

    String logged() {
        synchronized (log) {
            return log.toString();
        }
    }

    private List<WriteRecord> writes() {
        synchronized (writes) {
            return List.copyOf(writes);
        }
    }
}
