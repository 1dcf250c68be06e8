package io.rdmaraw.examples.conformance;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.http2.AbstractHttp2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.rdmaraw.examples.server.ServerCommand;
import picocli.CommandLine.Command;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * An HTTP/2 server with prior knowledge, built on Netty's codec only. It answers each complete request with a line of
 * text.
 */
@Command(name = "h2c")
final class PlainHttp2Server extends ServerCommand {
    @Override
    protected int defaultPort() {
        return 0;
    }

    @Override
    protected List<Channel> open(EventLoopGroup group, InetSocketAddress local) throws Exception {
        return List.of(listen(group, local, new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel connection) {
                connection.pipeline().addLast(new Builder().build());
            }
        }));
    }

    private static final class Builder extends AbstractHttp2ConnectionHandlerBuilder<Connection, Builder> {
        @Override
        public Connection build() {
            server(true);
            return super.build();
        }

        @Override
        protected Connection build(Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder,
                Http2Settings settings) {
            Connection connection = new Connection(decoder, encoder, settings);
            frameListener(new Answers(connection));
            return connection;
        }
    }

    /** Netty's codec. Its base class flushes the written frames at the end of each read. */
    private static final class Connection extends Http2ConnectionHandler {
        Connection(Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings settings) {
            super(decoder, encoder, settings);
        }
    }

    private static final class Answers extends Http2FrameAdapter {
        private static final ByteBuf TEXT = Unpooled.unreleasableBuffer(
                Unpooled.copiedBuffer("Hello, World!", StandardCharsets.US_ASCII));

        private final Connection connection;

        Answers(Connection connection) {
            this.connection = connection;
        }

        @Override
        public int onDataRead(ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding,
                boolean endOfStream) {
            if (endOfStream) {
                answer(ctx, streamId);
            }
            return data.readableBytes() + padding;
        }

        @Override
        public void onHeadersRead(ChannelHandlerContext ctx, int streamId, Http2Headers headers, int padding,
                boolean endOfStream) {
            if (endOfStream) {
                answer(ctx, streamId);
            }
        }

        @Override
        public void onHeadersRead(ChannelHandlerContext ctx, int streamId, Http2Headers headers, int dependency,
                short weight, boolean exclusive, int padding, boolean endOfStream) {
            onHeadersRead(ctx, streamId, headers, padding, endOfStream);
        }

        private void answer(ChannelHandlerContext ctx, int streamId) {
            Http2Headers headers = new DefaultHttp2Headers().status("200");
            connection.encoder().writeHeaders(ctx, streamId, headers, 0, false, ctx.newPromise());
            connection.encoder().writeData(ctx, streamId, TEXT.duplicate(), 0, true, ctx.newPromise());
        }
    }
}
