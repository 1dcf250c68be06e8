import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.*;
import io.rdmaraw.channel.RdmaRawEventLoopGroup;
import io.rdmaraw.channel.RdmaRawIoHandlerConfig;
import io.rdmaraw.channel.RdmaRawServerSocketChannel;

public final class HelloServer {
    public static void main(String[] args) throws InterruptedException {
        RdmaRawIoHandlerConfig config = RdmaRawIoHandlerConfig.builder().device(args[0]).build();
        EventLoopGroup group = new RdmaRawEventLoopGroup(2, config);
        try {
            var server = new ServerBootstrap().group(group).channel(RdmaRawServerSocketChannel.class)
                    .childHandler(new ChannelInitializer<SocketChannel>() {
                        @Override
                        protected void initChannel(SocketChannel client) {
                            client.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65_536), new Hello());
                        }
                    }).bind(8080).sync().channel();
            System.out.println("listening: " + server);
            server.closeFuture().sync();
        } finally {
            group.shutdownGracefully();
        }
    }

    private static final class Hello extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
            var hello = ctx.alloc().buffer().writeBytes("Hello\n".getBytes());
            var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, hello);
            answer.headers().set(HttpHeaderNames.CONTENT_LENGTH, hello.readableBytes());
            ctx.writeAndFlush(answer);
        }
    }
}
