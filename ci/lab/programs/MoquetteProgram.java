import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt3.Mqtt3BlockingClient;
import com.hivemq.client.mqtt.mqtt3.Mqtt3Client;
import io.moquette.broker.Server;
import io.moquette.broker.config.MemoryConfig;
import java.util.Properties;

/** A broker of Moquette and HiveMQ's client. */
public final class MoquetteProgram {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("port", "18893");
        properties.setProperty("host", "127.0.0.1");
        properties.setProperty("allow_anonymous", "true");
        properties.setProperty("persistence_enabled", "false");
        properties.setProperty("telemetry_enabled", "false");
        Server broker = new Server();
        broker.startServer(new MemoryConfig(properties));
        Mqtt3BlockingClient client = Mqtt3Client.builder().identifier("client").serverHost("127.0.0.1")
                .serverPort(18893).buildBlocking();
        client.connect();
        client.subscribeWith().topicFilter("topic").qos(MqttQos.AT_LEAST_ONCE).send();
        long bytes = 0;
        try (Mqtt3BlockingClient.Mqtt3Publishes publishes = client.publishes(MqttGlobalPublishFilter.ALL)) {
            for (int i = 0; i < 100; i++) {
                client.publishWith().topic("topic").qos(MqttQos.AT_LEAST_ONCE).payload(new byte[i * 10]).send();
                bytes += publishes.receive().getPayloadAsBytes().length;
            }
        }
        client.disconnect();
        System.out.println("bytes " + bytes);
        broker.stopServer();
        System.out.println("done");
        System.exit(0);
    }
}
