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
 * Sends requests on TCP connections, with one outstanding request on each. The first answer of a kind is parsed as
 * text. Later answers of the same kind on the connection must have the same length. If the server closes a connection
 * as requested, another connection replaces it. The latency of the first answer on the new connection includes the
 * handshake.
 */
final class PolledStreams implements PolledClient {
    /** Number of connections that are opened concurrently, which is less than the backlog of a listener. */
    private static final int AT_ONCE = 100;
    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int DIGITS = 3;

    private final Conversation conversation;
    private final ChannelGroup channels = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final Histogram nanos = new Histogram(MAX_NANOS, DIGITS);
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

    /** Sends the first request of a channel. Runs on the loop. */
    void begin(Channel channel) {
        Answers answers = channel.pipeline().get(Answers.class);
        answers.askedNanos = System.nanoTime();
        answers.ask(channel.pipeline().context(Answers.class));
    }

    /** Replaces a connection that the server closed as requested. */
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

    /** Returns the number of answers since the client was created. */
    long answeredInAll() {
        return answered;
    }

    @Override
    public void close() throws InterruptedException {
        // A reset leaves no TIME-WAIT state for the next measurement.
        channels.forEach(channel -> channel.config().setOption(ChannelOption.SO_LINGER, 0));
        channels.close().sync();
    }

    private final class Answers extends ChannelInboundHandlerAdapter {
        /** Received part of an answer of unknown length, or null if the length is known. */
        private StringBuilder text = new StringBuilder();
        private final int[] answerBytes = new int[conversation.exchanges().size()];
        private int asked;
        private int kind;
        private int receivedBytes;
        private long askedNanos;
        private boolean isWrong;
        /** Set when the last answer has arrived. The server will close the connection. */
        private boolean isLastAnswered;

        /** Sends the next request. The caller sets {@link #askedNanos}. */
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
                // The end of a wrong answer is unknown, so the connection cannot be used any more.
                ctx.close();
                return;
            }
            answered++;
            long now = System.nanoTime();
            nanos.recordValue(Math.min(MAX_NANOS, now - askedNanos));
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

        /** Returns whether the data contains the byte in which a wrong answer differs from a correct one. */
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
