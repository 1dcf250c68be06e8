package io.rdmaraw.microbench.server;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * Questions on TCP connections, one at a time on each. The first answer of a kind is read as text, and the others of a
 * connection are as long. Where the server ends a connection as it was asked to, another takes its place, and the time
 * of the first answer there has the handshake in it.
 */
final class PolledStreams implements PolledClient {
    /** Fewer than a listener's backlog has room for. */
    private static final int AT_ONCE = 100;
    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;

    private final Conversation conversation;
    private final ChannelGroup channels = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final Histogram nanos = new Histogram(LONGEST_NANOS, DIGITS);
    private Bootstrap bootstrap;
    private long answered;
    private long wrong;
    private boolean isOver;

    PolledStreams(Conversation conversation) {
        this.conversation = conversation;
    }

    @Override
    public void open(EventLoopGroup group, InetSocketAddress server, int connections) throws InterruptedException {
        bootstrap = new Bootstrap().group(group).channel(RdmaRawSocketChannel.class).remoteAddress(server)
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channels.add(channel);
                        channel.pipeline().addLast(newHandler());
                    }
                });
        List<Channel> opened = new ArrayList<>();
        List<ChannelFuture> connecting = new ArrayList<>();
        for (int i = 0; i < connections; i++) {
            connecting.add(bootstrap.connect());
            if (connecting.size() == AT_ONCE || i == connections - 1) {
                for (ChannelFuture each : connecting) {
                    opened.add(each.sync().channel());
                }
                connecting.clear();
            }
        }
        group.submit(() -> opened.forEach(this::begin)).sync();
    }

    ChannelInboundHandlerAdapter newHandler() {
        return new Answers();
    }

    /** Asks the first question of a channel. On the loop. */
    void begin(Channel channel) {
        Answers answers = channel.pipeline().get(Answers.class);
        answers.askedNanos = System.nanoTime();
        answers.ask(channel.pipeline().context(Answers.class));
    }

    /** A connection has ended as it was to end: another one takes its place. */
    private void connectAgain() {
        long begunNanos = System.nanoTime();
        bootstrap.connect().addListener((ChannelFuture connected) -> {
            if (connected.isSuccess() && !isOver) {
                Answers answers = connected.channel().pipeline().get(Answers.class);
                answers.askedNanos = begunNanos;
                answers.ask(connected.channel().pipeline().context(Answers.class));
            } else if (!isOver) {
                wrong++;
            }
        });
    }

    @Override
    public long startMeasuring() {
        nanos.reset();
        return System.nanoTime();
    }

    @Override
    public Result result() {
        isOver = true;
        return new Result(wrong, nanos.copy(), System.nanoTime());
    }

    /** Returns how many questions have been answered since the beginning. */
    long answeredInAll() {
        return answered;
    }

    @Override
    public void close() throws InterruptedException {
        // No TIME-WAIT, which the next measurement would find.
        channels.forEach(channel -> channel.config().setOption(ChannelOption.SO_LINGER, 0));
        channels.close().sync();
    }

    private final class Answers extends ChannelInboundHandlerAdapter {
        /** What has come of the first answer of its kind; null when its length is known. */
        private StringBuilder text = new StringBuilder();
        private final int[] answerBytes = new int[conversation.exchanges().size()];
        private int asked;
        private int kind;
        private int receivedBytes;
        private long askedNanos;
        private boolean isWrong;
        /** The last answer is there, and the server ends the connection. */
        private boolean isLastAnswered;

        /** Of which {@link #askedNanos} has been set. */
        private void ask(ChannelHandlerContext ctx) {
            receivedBytes = 0;
            kind = conversation.which().applyAsInt(asked++);
            text = answerBytes[kind] == 0 ? new StringBuilder() : null;
            ctx.writeAndFlush(conversation.exchange(kind).question().duplicate(), ctx.voidPromise());
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ByteBuf data = (ByteBuf) msg;
            Conversation.Exchange exchange = conversation.exchange(kind);
            boolean isText = text != null;
            if (isText) {
                text.append(data.toString(StandardCharsets.ISO_8859_1));
            } else if (decides(data, exchange) && decidingByte(data, exchange) != exchange.good().charAt(
                    exchange.decidesAt())) {
                isWrong = true;
            }
            receivedBytes += data.readableBytes();
            data.release();
            if (isText) {
                readText(exchange);
            }
            if (text == null && receivedBytes >= answerBytes[kind]) {
                answered(ctx, exchange);
            }
        }

        private void answered(ChannelHandlerContext ctx, Conversation.Exchange exchange) {
            if (isWrong || receivedBytes > answerBytes[kind]) {
                // What follows a wrong answer, or one of another length, cannot be told apart.
                ctx.close();
                return;
            }
            answered++;
            long now = System.nanoTime();
            nanos.recordValue(Math.min(LONGEST_NANOS, now - askedNanos));
            if (exchange.isLast()) {
                isLastAnswered = true;
                return;
            }
            askedNanos = now;
            ask(ctx);
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (isOver) {
                return;
            }
            if (isLastAnswered) {
                connectAgain();
            } else {
                wrong++;
            }
        }

        /** Returns whether the byte that tells a right answer from a wrong one is in what comes now. */
        private boolean decides(ByteBuf data, Conversation.Exchange exchange) {
            return receivedBytes <= exchange.decidesAt()
                    && receivedBytes + data.readableBytes() > exchange.decidesAt();
        }

        private char decidingByte(ByteBuf data, Conversation.Exchange exchange) {
            return (char) data.getUnsignedByte(data.readerIndex() + exchange.decidesAt() - receivedBytes);
        }

        private void readText(Conversation.Exchange exchange) {
            int bytes = exchange.answerBytes().applyAsInt(text.toString());
            if (bytes > 0) {
                if (text.indexOf(exchange.good()) != 0) {
                    throw new IllegalStateException("not a right answer: " + text);
                }
                answerBytes[kind] = bytes;
                text = null;
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }
}
