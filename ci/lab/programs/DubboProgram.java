import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/** A provider and a consumer of Dubbo. */
public final class DubboProgram {
    public interface Greeting {
        String greet(String name);
    }

    public static void main(String[] args) throws Exception {
        ApplicationConfig application = new ApplicationConfig("program");
        application.setQosEnable(false);
        ProtocolConfig protocol = new ProtocolConfig("dubbo", 20897);
        protocol.setHost("127.0.0.1");
        ServiceConfig<Greeting> service = new ServiceConfig<>();
        service.setInterface(Greeting.class);
        service.setRef(name -> "hello " + name);
        ReferenceConfig<Greeting> reference = new ReferenceConfig<>();
        reference.setInterface(Greeting.class);
        reference.setScope("remote");
        reference.setUrl("dubbo://127.0.0.1:20897/" + Greeting.class.getName());
        DubboBootstrap.getInstance().application(application).registry(new RegistryConfig("N/A"))
                .protocol(protocol).service(service).start();
        long bytes = 0;
        for (int i = 0; i < 100; i++) {
            bytes += reference.get().greet("x".repeat(i)).length();
        }
        System.out.println("bytes " + bytes);
        System.out.println("done");
        System.exit(0);
    }
}
