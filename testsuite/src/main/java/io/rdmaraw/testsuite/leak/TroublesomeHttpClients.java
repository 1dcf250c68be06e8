package io.rdmaraw.testsuite.leak;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawSocketChannel;
import io.rdmaraw.testsuite.net.Await;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * HTTP/1.1 clients that provoke buffer leaks in servers: long bodies, many pipelined requests, slow reading, and
 * connections that end early. The server must echo the body of a request.
 */
public final class TroublesomeHttpClients {
    private static final int LONG_BODY_BYTES = 10 << 20;
    private static final int PIPELINED_BODY_BYTES = 20_000;
    private static final int PIPELINED = 40;
    private static final int SLOW_RECEIVE_BUFFER_BYTES = 16 << 10;
    private static final int ROUNDS = 3;

    private final RdmaRawEventLoopGroup loops;
    private final InetSocketAddress server;
    private final String path;

    /**
     * Creates the clients.
     *
     * @param loops  event loops of the clients
     * @param server address of the server
     * @param path   path of the echo
     */
    public TroublesomeHttpClients(RdmaRawEventLoopGroup loops, InetSocketAddress server, String path) {
        this.loops = loops;
        this.server = server;
        this.path = path;
    }

    /** Runs all clients several times, and then ordinary ones. */
    public void run() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            longBody();
            pipelined();
            slowReader();
            goesWhileItSends(round);
            goesWhileItReceives(round);
            sendsAllAndGoes(round);
        }
        longBody();
        pipelined();
    }

    /** The responses on one connection. */
    private static final class Answers extends SimpleChannelInboundHandler<HttpObject> {
        private final List<CompletableFuture<byte[]>> awaited = new ArrayList<>();
        private final boolean slow;
        private final CompletableFuture<Void> begun = new CompletableFuture<>();
        private ByteBuf body = Unpooled.buffer();
        private int complete;

        Answers(int count, boolean slow) {
            this.slow = slow;
            for (int i = 0; i < count; i++) {
                awaited.add(new CompletableFuture<>());
            }
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject message) {
            if (message instanceof HttpResponse response && !response.status().equals(HttpResponseStatus.OK)) {
                fail(new AssertionError("the answer is " + response.status()));
            }
            if (message instanceof HttpContent content) {
                if (content.content().isReadable()) {
                    begun.complete(null);
                }
                body.writeBytes(content.content());
            }
            if (message instanceof LastHttpContent && complete < awaited.size()) {
                byte[] bytes = new byte[body.readableBytes()];
                body.readBytes(bytes);
                body = Unpooled.buffer();
                awaited.get(complete++).complete(bytes);
            }
        }

        /** Reads again only after the loop has done all other work, so that the window fills up. */
        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            if (slow) {
                ctx.executor().execute(ctx::read);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            fail(new AssertionError("the server has ended the connection"));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            fail(cause);
        }

        private void fail(Throwable cause) {
            begun.completeExceptionally(cause);
            awaited.forEach(answer -> answer.completeExceptionally(cause));
        }
    }

    private Channel connect(Answers answers, boolean slow) throws InterruptedException {
        Bootstrap client = new Bootstrap().group(loops).channel(RdmaRawSocketChannel.class)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpClientCodec(), answers);
                    }
                });
        if (slow) {
            client.option(ChannelOption.AUTO_READ, false).option(ChannelOption.SO_RCVBUF, SLOW_RECEIVE_BUFFER_BYTES);
        }
        Channel channel = client.connect(server).sync().channel();
        if (slow) {
            channel.read();
        }
        return channel;
    }

    private static byte[] body(int bytes, long seed) {
        byte[] body = new byte[bytes];
        new Random(seed).nextBytes(body);
        return body;
    }

    private HttpRequest head(int bodyBytes) {
        HttpRequest request = new DefaultHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.POST, path);
        request.headers().set(HttpHeaderNames.HOST, server.getHostString()).set(HttpHeaderNames.CONTENT_TYPE,
                "application/octet-stream").set(HttpHeaderNames.CONTENT_LENGTH, bodyBytes);
        return request;
    }

    private void write(Channel channel, byte[] body) {
        channel.write(head(body.length));
        channel.write(new DefaultLastHttpContent(Unpooled.wrappedBuffer(body)));
    }

    private static void check(Answers answers, int number, byte[] body) throws Exception {
        byte[] answer = answers.awaited.get(number).get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        if (!Arrays.equals(answer, body)) {
            throw new AssertionError("another body came back than was sent, of " + answer.length + " bytes");
        }
    }

    private void longBody() throws Exception {
        echo(LONG_BODY_BYTES, false);
    }

    private void slowReader() throws Exception {
        echo(LONG_BODY_BYTES, true);
    }

    private void echo(int bytes, boolean slow) throws Exception {
        Answers answers = new Answers(1, slow);
        Channel channel = connect(answers, slow);
        byte[] body = body(bytes, 1);
        write(channel, body);
        channel.flush();
        check(answers, 0, body);
        channel.close().sync();
    }

    /** Sends all requests before the first response. */
    private void pipelined() throws Exception {
        Answers answers = new Answers(PIPELINED, false);
        Channel channel = connect(answers, false);
        for (int i = 0; i < PIPELINED; i++) {
            write(channel, body(PIPELINED_BODY_BYTES, i));
        }
        channel.flush();
        for (int i = 0; i < PIPELINED; i++) {
            check(answers, i, body(PIPELINED_BODY_BYTES, i));
        }
        channel.close().sync();
    }

    /** Closes a connection, in every second round with a reset. */
    private static void leave(Channel channel, int round) throws InterruptedException {
        if (round % 2 == 0) {
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
        }
        channel.close().sync();
    }

    private void goesWhileItSends(int round) throws Exception {
        Channel channel = connect(new Answers(1, false), false);
        channel.write(head(LONG_BODY_BYTES));
        channel.writeAndFlush(new DefaultHttpContent(
                Unpooled.wrappedBuffer(body(LONG_BODY_BYTES / 3, round)))).sync();
        leave(channel, round);
    }

    /** Leaves after the response has started, while the rest fills the server's buffers. */
    private void goesWhileItReceives(int round) throws Exception {
        Answers answers = new Answers(1, false);
        Channel channel = connect(answers, true);
        write(channel, body(LONG_BODY_BYTES, round));
        channel.flush();
        while (!answers.begun.isDone()) {
            channel.eventLoop().submit(() -> {
                channel.read();
            }).sync();
        }
        answers.begun.get(Await.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        leave(channel, round);
    }

    /** Sends many requests and leaves without waiting for a response. */
    private void sendsAllAndGoes(int round) throws Exception {
        Channel channel = connect(new Answers(PIPELINED, false), false);
        for (int i = 0; i < PIPELINED; i++) {
            write(channel, body(PIPELINED_BODY_BYTES, i));
        }
        channel.writeAndFlush(Unpooled.EMPTY_BUFFER).sync();
        leave(channel, round);
    }
}
