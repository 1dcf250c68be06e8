package program;

import static program.Echo.print;

import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;

/** Uses only API that Netty 4.1 and 4.2 share. */
@SuppressWarnings("deprecation") // programs for Netty 4.1 create groups in this way
public final class OldNetty {
    private final NioEventLoopGroup group = new NioEventLoopGroup(1);

    private OldNetty() {
    }

    public static void main(String[] args) throws Exception {
        OldNetty program = new OldNetty();
        ChannelInitializer<NioSocketChannel> initializer = new ChannelInitializer<>() {
            @Override
            protected void initChannel(NioSocketChannel channel) {
                print("active", channel.isActive());
            }
        };
        print("echo", Echo.between(program.group, NioServerSocketChannel.class, NioSocketChannel.class, initializer));
        print("new channel", new NioSocketChannel().isOpen());
        program.group.setIoRatio(70);
        Echo.end(program.group);
        System.out.println("done");
    }
}
