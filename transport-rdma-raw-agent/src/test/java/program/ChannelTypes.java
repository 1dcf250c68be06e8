package program;

import static program.Echo.print;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Uses the types of NIO's channels in every position where Java permits a type, without examining the actual class. */
@SuppressWarnings("deprecation") // most programs create groups in this way
public final class ChannelTypes {
    private static final List<NioSocketChannel> ACCEPTED = new ArrayList<>();
    private static NioSocketChannel last;

    private record Session(NioSocketChannel channel, String user) {
    }

    private abstract static class Base {
        private final Map<String, NioSocketChannel> byName = new ConcurrentHashMap<>();

        abstract String describe(NioSocketChannel channel);

        void add(NioSocketChannel channel) {
            byName.put("only", channel);
            print("described", describe(byName.get("only")));
        }
    }

    private static final class Derived extends Base {
        @Override
        String describe(NioSocketChannel channel) {
            return "open " + channel.isOpen() + ", parent open " + channel.parent().isOpen();
        }
    }

    @ChannelHandler.Sharable
    private static final class Look extends ChannelInboundHandlerAdapter {
        private final Base base = new Derived();
        private final Function<NioSocketChannel, Boolean> active = NioSocketChannel::isActive;

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            NioSocketChannel channel = (NioSocketChannel) ctx.channel();
            last = channel;
            ACCEPTED.add(channel);
            base.add(channel);
            Session session = new Session(channel, "somebody");
            print("session", session.equals(new Session(last, "somebody")) + " " + session.channel().isOpen());
            print("active", active.apply(channel));
            print("kind", kindOf(ctx.channel()));
            NioSocketChannel[] array = {channel, ACCEPTED.getFirst()};
            print("array", array[0] == array[1]);
            ctx.fireChannelActive();
        }
    }

    private ChannelTypes() {
    }

    private static String kindOf(Channel channel) {
        return switch (channel) {
            case NioServerSocketChannel server -> "server " + server.isOpen();
            case NioSocketChannel socket -> "socket " + socket.isOpen();
            default -> "unknown";
        };
    }

    public static void main(String[] args) throws Exception {
        EventLoopGroup group = new NioEventLoopGroup(2);
        print("echo", Echo.between(group, NioServerSocketChannel.class, NioSocketChannel.class, new Look()));
        ChannelInitializer<NioSocketChannel> initializer = new ChannelInitializer<>() {
            @Override
            protected void initChannel(NioSocketChannel channel) {
                channel.pipeline().addLast(new Look());
            }
        };
        NioServerSocketChannel server = (NioServerSocketChannel) new ServerBootstrap().group(group)
                .channel(NioServerSocketChannel.class).childHandler(initializer).bind("127.0.0.1", 0).sync().channel();
        print("server", kindOf(server));
        server.close().sync();
        Echo.end(group);
        System.out.println("done");
    }
}
