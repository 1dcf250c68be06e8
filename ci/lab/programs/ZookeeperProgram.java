import java.io.File;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** A server of ZooKeeper and its client, both on Netty. */
public final class ZookeeperProgram {
    public static void main(String[] args) throws Exception {
        System.setProperty("zookeeper.serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory");
        System.setProperty("zookeeper.clientCnxnSocket", "org.apache.zookeeper.ClientCnxnSocketNetty");
        File directory = Files.createTempDirectory("zookeeper").toFile();
        ServerCnxnFactory factory = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 10);
        factory.startup(new ZooKeeperServer(directory, directory, 2000));
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper("127.0.0.1:" + factory.getLocalPort(), 30_000, event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        connected.await();
        long bytes = 0;
        for (int i = 0; i < 100; i++) {
            client.create("/node" + i, "value".repeat(i).getBytes(StandardCharsets.UTF_8),
                    ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            bytes += client.getData("/node" + i, false, null).length;
        }
        System.out.println("children " + client.getChildren("/", false).size() + ", bytes " + bytes);
        client.close();
        factory.shutdown();
        System.out.println("done");
        System.exit(0);
    }
}
