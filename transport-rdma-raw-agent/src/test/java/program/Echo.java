package program;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.SimpleChannelInboundHandler;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Exchanges a request and a reply between a server and a client. This class names no transport. */
final class Echo {
    private static final int PATIENCE_SECONDS = 30;

    private Echo() {
    }

    private static final class Server extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object msg) {
            ctx.writeAndFlush(msg);
        }
    }

    private static final class Client extends SimpleChannelInboundHandler<ByteBuf> {
        private final CompletableFuture<String> answer = new CompletableFuture<>();

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            ctx.writeAndFlush(Unpooled.copiedBuffer("hello", StandardCharsets.UTF_8));
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
            answer.complete(msg.toString(StandardCharsets.UTF_8));
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            answer.complete("closed");
        }
    }

    /**
     * Returns the reply, or the exception that occurred.
     *
     * @param accepted handler that is added first to each accepted channel
     */
    static String between(EventLoopGroup group, Class<? extends ServerChannel> serverType,
            Class<? extends Channel> clientType, ChannelHandler accepted) throws Exception {
        Channel server = null;
        try {
            server = new ServerBootstrap().group(group).channel(serverType)
                    .childHandler(new ChannelInitializer<Channel>() {
                        @Override
                        protected void initChannel(Channel channel) {
                            channel.pipeline().addLast(accepted, new Server());
                        }
                    }).bind("127.0.0.1", 0).sync().channel();
            Client client = new Client();
            Channel connected = new Bootstrap().group(group).channel(clientType).handler(client)
                    .connect(server.localAddress()).sync().channel();
            String answer = client.answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
            connected.close().sync();
            return answer;
        } catch (Exception e) {
            return e.toString();
        } finally {
            if (server != null) {
                server.close().sync();
            }
        }
    }

    static void end(EventLoopGroup... groups) throws InterruptedException {
        for (EventLoopGroup group : groups) {
            group.shutdownGracefully(0, 0, TimeUnit.SECONDS).sync();
        }
    }

    static void print(String name, Object value) {
        System.out.println(name + ": " + value);
    }
}
