import { Sessions } from "agents-0.32/sessions";

/**
 * The Sessions of agents@0.32 on a Durable Object's storage. A capability is given that by the Lifecycle that it is installed
 * in, which Node does not load; its types say which services a Lifecycle grants.
 */
export function onStorage(storage) {
  const services = { storage, ready: async () => {}, status: () => "started", events: { emit() {} } };
  class HostedSessions extends Sessions {
    get lifecycle() {
      return services;
    }

    get lifecycleServices() {
      return services;
    }
  }
  return new HostedSessions();
}
