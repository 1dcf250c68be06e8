import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5BlockingClient;
import com.hivemq.client.mqtt.mqtt5.Mqtt5Client;
import com.hivemq.embedded.EmbeddedHiveMQ;
import java.nio.file.Files;
import java.nio.file.Path;

/** A broker of HiveMQ CE and HiveMQ's client. */
public final class HivemqProgram {
    private static final String CONFIGURATION = """
            <hivemq>
                <listeners>
                    <tcp-listener><port>18894</port><bind-address>127.0.0.1</bind-address></tcp-listener>
                </listeners>
                <persistence><mode>in-memory</mode></persistence>
                <anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics>
            </hivemq>
            """;
    private static final String LOGGING = """
            <configuration>
                <appender name="none" class="ch.qos.logback.core.helpers.NOPAppender"/>
                <root level="OFF"><appender-ref ref="none"/></root>
            </configuration>
            """;

    public static void main(String[] args) throws Exception {
        System.setProperty("slf4j.provider", "ch.qos.logback.classic.spi.LogbackServiceProvider");
        Path directory = Files.createTempDirectory("hivemq");
        Path configuration = Files.createDirectory(directory.resolve("conf"));
        Files.writeString(configuration.resolve("config.xml"), CONFIGURATION);
        Files.writeString(configuration.resolve("logback.xml"), LOGGING);
        EmbeddedHiveMQ broker = EmbeddedHiveMQ.builder().withConfigurationFolder(configuration)
                .withDataFolder(Files.createDirectory(directory.resolve("data")))
                .withExtensionsFolder(Files.createDirectory(directory.resolve("extensions"))).build();
        broker.start().get();
        Mqtt5BlockingClient client = Mqtt5Client.builder().identifier("client").serverHost("127.0.0.1")
                .serverPort(18894).buildBlocking();
        client.connect();
        client.subscribeWith().topicFilter("topic").qos(MqttQos.AT_LEAST_ONCE).send();
        long bytes = 0;
        try (Mqtt5BlockingClient.Mqtt5Publishes publishes = client.publishes(MqttGlobalPublishFilter.ALL)) {
            for (int i = 0; i < 100; i++) {
                client.publishWith().topic("topic").qos(MqttQos.AT_LEAST_ONCE).payload(new byte[i * 10]).send();
                bytes += publishes.receive().getPayloadAsBytes().length;
            }
        }
        client.disconnect();
        System.out.println("bytes " + bytes);
        broker.stop().get();
        System.out.println("done");
        System.exit(0);
    }
}
