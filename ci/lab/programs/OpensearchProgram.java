import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.Version;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.PluginInfo;
import org.opensearch.transport.Netty4ModulePlugin;

/** A node of OpenSearch with its transport of Netty, and the JDK's HTTP client. */
public final class OpensearchProgram {
    private static final PluginInfo NETTY = new PluginInfo("netty4", "", "", Version.CURRENT, "21",
            Netty4ModulePlugin.class.getName(), null, List.of(), false);

    private static final class EmbeddedNode extends Node {
        EmbeddedNode(Settings settings) {
            super(InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "program"),
                    List.of(NETTY), false);
        }
    }

    public static void main(String[] args) throws Exception {
        Path home = Files.createTempDirectory("opensearch");
        Settings settings = Settings.builder().put("path.home", home).put("node.name", "program")
                .put("cluster.name", "program").put("discovery.type", "single-node")
                .put("network.host", "127.0.0.1").put("http.port", "18895").put("transport.port", "18896")
                .put("transport.type", "netty4").put("http.type", "netty4").build();
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        try (EmbeddedNode node = new EmbeddedNode(settings)) {
            node.start();
            for (int i = 0; i < 100; i++) {
                request(client, "PUT", "/index/_doc/" + i, "{\"text\":\"" + "x".repeat(i) + "\"}");
            }
            request(client, "POST", "/index/_refresh", "");
            System.out.println(request(client, "GET", "/index/_count", "").replaceAll(",\"_shards.*", ""));
        }
        System.out.println("done");
        System.exit(0);
    }

    private static String request(HttpClient client, String method, String path, String body) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create("http://127.0.0.1:18895" + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body)).header("Content-Type", "application/json")
                .build(), HttpResponse.BodyHandlers.ofString()).body();
    }
}
