package program;

import static program.Echo.print;

import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.DefaultSelectStrategyFactory;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.EventLoopTaskQueueFactory;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultEventExecutorChooserFactory;
import io.netty.util.concurrent.EventExecutorChooserFactory;
import io.netty.util.concurrent.RejectedExecutionHandler;
import io.netty.util.concurrent.ThreadPerTaskExecutor;

import java.nio.channels.spi.SelectorProvider;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** Uses the type of NIO's group in every position where Java permits a type. */
@SuppressWarnings("deprecation") // most programs create groups in this way
public final class GroupTypes {
    private static final int QUEUE_LENGTH = 16;
    private static final int TASKS = 64;

    private record Loops(NioEventLoopGroup group, int size) {
    }

    private static class Named extends NioEventLoopGroup {
        private final String name;

        Named(String name) {
            super(1);
            this.name = name;
        }

        String name() {
            return name;
        }
    }

    private GroupTypes() {
    }

    public static void main(String[] args) throws Exception {
        records();
        subclasses();
        constants();
        arguments();
        System.out.println("done");
    }

    private static String echo(EventLoopGroup group) throws Exception {
        return Echo.between(group, NioServerSocketChannel.class, NioSocketChannel.class,
                new ChannelInboundHandlerAdapter());
    }

    private static void records() throws Exception {
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        Loops loops = new Loops(group, 1);
        print("record", loops.equals(new Loops(group, 1)) + " " + (loops.hashCode() == new Loops(group, 1).hashCode())
                + " " + loops.toString().startsWith("Loops[group=io.netty.channel.nio.NioEventLoopGroup@"));
        print("echo of a record's group", echo(loops.group()));
        Echo.end(loops.group());
    }

    private static void subclasses() throws Exception {
        Named named = new Named("mine");
        print("subclass", named.name() + " " + named.executorCount());
        print("echo of a subclass", echo(named));
        NioEventLoopGroup anonymous = new NioEventLoopGroup(1) {
            @Override
            public String toString() {
                return "anonymous";
            }
        };
        print("anonymous subclass", anonymous);
        print("echo of an anonymous subclass", echo(anonymous));
        anonymous.setIoRatio(70);
        anonymous.rebuildSelectors();
        print("echo after rebuilding", echo(anonymous));
        Echo.end(named, anonymous);
    }

    private static void constants() throws Exception {
        Map<Class<?>, String> names = Map.of(NioEventLoopGroup.class, "group", NioSocketChannel.class, "channel",
                NioServerSocketChannel.class, "server");
        EventLoopGroup group = new NioEventLoopGroup(1);
        print("constants", names.get(NioEventLoopGroup.class) + " " + names.get(group.getClass()) + " "
                + names.get(NioSocketChannel.class) + " " + names.get(NioServerSocketChannel.class));
        print("class by name", Class.forName("io.netty.channel.socket.nio.NioSocketChannel") == NioSocketChannel.class);
        print("instance", group instanceof NioEventLoopGroup);
        Echo.end(group);
    }

    /** Each argument of the longest constructor takes effect. */
    private static void arguments() throws Exception {
        AtomicInteger threads = new AtomicInteger();
        AtomicInteger choosers = new AtomicInteger();
        AtomicInteger rejected = new AtomicInteger();
        AtomicInteger queues = new AtomicInteger();
        Executor executor = new ThreadPerTaskExecutor(task -> {
            threads.incrementAndGet();
            return new Thread(task, "mine");
        });
        EventExecutorChooserFactory chooser = loops -> {
            choosers.incrementAndGet();
            return DefaultEventExecutorChooserFactory.INSTANCE.newChooser(loops);
        };
        RejectedExecutionHandler rejection = (task, loop) -> rejected.incrementAndGet();
        EventLoopTaskQueueFactory queue = length -> {
            queues.incrementAndGet();
            return new LinkedBlockingQueue<>(QUEUE_LENGTH);
        };
        EventLoopGroup group = new NioEventLoopGroup(1, executor, chooser, SelectorProvider.provider(),
                DefaultSelectStrategyFactory.INSTANCE, rejection, queue, queue);
        print("echo with all arguments", echo(group));
        CountDownLatch blocked = new CountDownLatch(1);
        CountDownLatch isBlocking = new CountDownLatch(1);
        group.execute(() -> {
            isBlocking.countDown();
            try {
                blocked.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        isBlocking.await();
        for (int i = 0; i < TASKS; i++) {
            group.execute(() -> { });
        }
        blocked.countDown();
        print("arguments", threads + " thread, " + choosers + " chooser, " + queues + " queues, most rejected: "
                + (rejected.get() >= TASKS - QUEUE_LENGTH));
        Echo.end(group);
    }
}
